/* Where the objects of a tree are drawn: dagre, left to right. Positions only; no drawing here. */
import { graphlib, layout } from "@dagrejs/dagre";
import { ROOT, type Drawn } from "./tree";

export const BOX = { width: 224, height: 48 } as const;

export interface Placed {
  id: string;
  x: number;
  y: number;
}

export interface Line {
  id: string;
  path: string;
}

export interface Layout {
  width: number;
  height: number;
  boxes: Map<string, Placed>;
  lines: Line[];
}

export function layoutOf(objects: readonly Drawn[]): Layout {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 12, ranksep: 56, marginx: 16, marginy: 16, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  graph.setNode(ROOT, { ...BOX });
  for (const object of objects) graph.setNode(object.id, { ...BOX });
  for (const object of objects) graph.setEdge(object.parent, object.id);
  layout(graph);
  return read(graph, objects);
}

function read(graph: InstanceType<typeof graphlib.Graph>, objects: readonly Drawn[]): Layout {
  const boxes = new Map<string, Placed>();
  for (const id of graph.nodes()) {
    const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
    boxes.set(id, { id, x: Math.round(x - BOX.width / 2), y: Math.round(y - BOX.height / 2) });
  }
  const lines = objects.map((object) => line(boxes, object));
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width, height, boxes, lines };
}

/** A level-ended curve from the parent's right side to the child's left side. */
function line(boxes: ReadonlyMap<string, Placed>, object: Drawn): Line {
  const from = boxes.get(object.parent);
  const to = boxes.get(object.id);
  if (!from || !to) return { id: object.id, path: "" };
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return { id: object.id, path: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` };
}
