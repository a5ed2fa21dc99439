import { describe, expect, it } from "vitest";
import { folded, sideBySide } from "@/model/diff";

const sides = (left: string, right: string) =>
  sideBySide(left, right).map((row) => [row.kind, row.left, row.right]);

describe("two texts beside each other", () => {
  it("are the same where they are equal", () => {
    expect(sides("a\nb", "a\nb")).toEqual([
      ["same", "a", "a"],
      ["same", "b", "b"],
    ]);
  });

  it("put what went beside what came", () => {
    expect(sides("a\nold\nz", "a\nnew\nz")[1]).toEqual(["changed", "old", "new"]);
  });

  it.each([
    ["nothing", "", "a\nb", ["new", "new"]],
    ["all gone", "a\nb", "", ["gone", "gone"]],
    ["both empty", "", "", []],
    ["a line more", "a\nc", "a\nb\nc", ["same", "new", "same"]],
    ["a line less", "a\nb\nc", "a\nc", ["same", "gone", "same"]],
  ])("cover %s", (_, left, right, kinds) => {
    expect(sides(left, right).map(([kind]) => kind)).toEqual(kinds);
  });

  it("lose no line of either side, whatever they are", () => {
    let seed = 1;
    const letter = () => "abc"[(seed = (seed * 16807) % 2147483647) % 3] ?? "a";
    for (let run = 0; run < 200; run++) {
      const make = () => Array.from({ length: run % 9 }, letter).join("\n");
      const [left, right] = [make(), make()];
      const rows = sideBySide(left, right);
      const text = (side: "left" | "right") => rows.flatMap((row) => row[side] ?? []).join("\n");
      expect([text("left"), text("right")]).toEqual([left, right]);
    }
  });

  it("fold long equal runs and say how much they hide", () => {
    const same = Array.from({ length: 30 }, (_, i) => `line ${i}`).join("\n");
    const rows = folded(sideBySide(`${same}\nold`, `${same}\nnew`));
    expect(rows.map((row) => row.kind)).toEqual(["fold", "same", "same", "same", "changed"]);
    expect(rows[0]?.hides).toBe(27);
  });
});
