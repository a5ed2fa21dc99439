import { describe, expect, it } from "vitest";
import { keyOf } from "@/model/keys";
import { BOX, layoutOf } from "@/model/layout";
import { drawn, ROOT, type Folding } from "@/model/tree";
import { neighbour } from "@/model/neighbours";
import { node } from "./samples";

const OPEN: Folding = { opened: new Set(), closed: new Set() };
const deployment = node("Deployment", "web", { group: "apps" });
const sets = Array.from({ length: 8 }, (_, i) =>
  node("ReplicaSet", `web-${i}`, {
    group: "apps",
    parents: [keyOf(deployment)],
    health: i === 5 ? "Degraded" : "Healthy",
  }),
);

describe("the tree", () => {
  it("hangs what nobody owns below the application", () => {
    const [one] = drawn([node("Service", "web", { parents: ["apps/Deployment/shop/gone"] })], OPEN);
    expect(one?.parent).toBe(ROOT);
  });

  it("folds many of one kind, and the worst of them speaks", () => {
    const group = drawn([deployment, ...sets], OPEN).find((one) => one.folded);
    expect(group).toMatchObject({
      folded: 8,
      health: "Degraded",
      note: "1 Degraded",
      parent: keyOf(deployment),
    });
  });

  it("unfolds the group that a person opened", () => {
    const opened = new Set([`${keyOf(deployment)}>ReplicaSet`]);
    expect(drawn([deployment, ...sets], { ...OPEN, opened })).toHaveLength(9);
  });

  it("hides what a closed object owns, and says how many", () => {
    const closed = new Set([keyOf(deployment)]);
    expect(drawn([deployment, ...sets], { ...OPEN, closed })).toMatchObject([{ note: "8 folded" }]);
  });

  it("ends though owners form a circle", () => {
    const a = node("A", "a", { parents: ["/B/shop/b"] });
    const b = node("B", "b", { parents: ["/A/shop/a"] });
    expect(drawn([a, b, node("C", "c")], OPEN).map((one) => one.title)).toEqual(["c"]);
  });
});

describe("the layout", () => {
  const objects = drawn([deployment, ...sets.slice(0, 3), node("Service", "web")], OPEN);
  const layout = layoutOf(objects);

  it("puts children right of their parent", () => {
    for (const object of objects) {
      const [parent, child] = [layout.boxes.get(object.parent), layout.boxes.get(object.id)];
      expect(child?.x).toBeGreaterThan((parent?.x ?? 0) + BOX.width);
    }
  });

  it("lays no box on another", () => {
    const boxes = [...layout.boxes.values()];
    for (const a of boxes) {
      for (const b of boxes) {
        const apart = a === b || Math.abs(a.x - b.x) >= BOX.width || Math.abs(a.y - b.y) >= BOX.height;
        expect(apart).toBe(true);
      }
    }
  });

  it("draws a line to each object", () => {
    expect(layout.lines.every((line) => line.path.startsWith("M"))).toBe(true);
  });

  it("is walked with arrow keys, from the application to its objects and back", () => {
    const right = neighbour(layout.boxes, ROOT, "right");
    expect(right).not.toBeNull();
    expect(neighbour(layout.boxes, right?.id ?? "", "left")?.id).toBe(ROOT);
    expect(neighbour(layout.boxes, ROOT, "left")).toBeNull();
  });
});
