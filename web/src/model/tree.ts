/*
 * From the agent's flat list to what is drawn: children of one parent and one kind fold into a group when
 * they are many, the worst of them speaking for all. Old ReplicaSets and the like are what makes trees long.
 */
import { keyOf } from "./keys";
import { HEALTH_ORDER } from "./status";
import type { HealthStatus, SyncStatus, TreeNode } from "@/api/schema";

export const ROOT = "application";
const FOLD_FROM = 6;

export interface Drawn {
  id: string;
  parent: string;
  title: string;
  kind: string;
  health: HealthStatus | "";
  sync: SyncStatus | "";
  note: string;
  node: TreeNode | null;
  /** How many objects a folded group stands for; 0 for a single object. */
  folded: number;
}

export interface Folding {
  /** Groups a person opened, and objects whose children a person closed. */
  opened: ReadonlySet<string>;
  closed: ReadonlySet<string>;
}

type Children = Map<string, TreeNode[]>;

export function drawn(nodes: readonly TreeNode[], folding: Folding): Drawn[] {
  const children = byParent(nodes);
  const out: Drawn[] = [];
  const seen = new Set<string>();
  const walk = (parent: string) => {
    if (folding.closed.has(parent)) return;
    for (const [kind, group] of byKind(children.get(parent) ?? [])) {
      const id = `${parent}>${kind}`;
      const fold = group.length >= FOLD_FROM && !folding.opened.has(id);
      if (fold) out.push(groupOf(id, parent, kind, group));
      else for (const node of group) visit(node, parent);
    }
  };
  const visit = (node: TreeNode, parent: string) => {
    const id = keyOf(node);
    if (seen.has(id)) return;
    seen.add(id);
    out.push(single(id, parent, node, hidden(id, children, folding)));
    walk(id);
  };
  walk(ROOT);
  return out;
}

function byParent(nodes: readonly TreeNode[]): Children {
  const known = new Set(nodes.map(keyOf));
  const children: Children = new Map();
  for (const node of nodes) {
    const parent = node.parents.find((key) => known.has(key)) ?? ROOT;
    const siblings = children.get(parent);
    if (siblings) siblings.push(node);
    else children.set(parent, [node]);
  }
  return children;
}

function byKind(nodes: readonly TreeNode[]): [string, TreeNode[]][] {
  const kinds = new Map<string, TreeNode[]>();
  for (const node of nodes) kinds.set(node.kind, [...(kinds.get(node.kind) ?? []), node]);
  return [...kinds];
}

function hidden(id: string, children: Children, folding: Folding): number {
  return folding.closed.has(id) ? (children.get(id)?.length ?? 0) : 0;
}

function single(id: string, parent: string, node: TreeNode, closed: number): Drawn {
  const note = closed ? `${closed} folded` : (node.info[0] ?? "");
  const { name: title, kind, health, sync } = node;
  return { id, parent, title, kind, health, sync, note, node, folded: 0 };
}

function groupOf(id: string, parent: string, kind: string, group: readonly TreeNode[]): Drawn {
  const health = worst(group);
  const ill = group.filter((node) => node.health === health).length;
  const note = health && health !== "Healthy" ? `${ill} ${health}` : "click to unfold";
  const sync = group.some((node) => node.sync === "OutOfSync") ? "OutOfSync" : "";
  return {
    id,
    parent,
    title: `${group.length} × ${kind}`,
    kind,
    health,
    sync,
    note,
    node: null,
    folded: group.length,
  };
}

function worst(nodes: readonly TreeNode[]): HealthStatus | "" {
  return HEALTH_ORDER.find((health) => nodes.some((node) => node.health === health)) ?? "";
}
