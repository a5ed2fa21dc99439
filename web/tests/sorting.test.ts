import { describe, expect, it } from "vitest";
import { keepOrder, ordered } from "@/model/sorting";
import { application } from "./samples";

const rows = [
  application({ id: "1", name: "b", healthSince: "2026-01-01T09:00:00Z" }),
  application({ id: "2", name: "a", health: "Degraded", healthSince: "2026-01-01T08:00:00Z" }),
  application({ id: "3", name: "c", healthSince: "2026-01-01T11:00:00Z" }),
];
const ids = (list: readonly { id: string }[]) => list.map((row) => row.id);

describe("the order of applications", () => {
  it("is worst first, then by name", () => expect(ids(ordered(rows, "worst"))).toEqual(["2", "1", "3"]));
  it("is by name", () => expect(ids(ordered(rows, "name"))).toEqual(["2", "1", "3"]));
  it("is what changed last", () => expect(ids(ordered(rows, "changed"))).toEqual(["3", "1", "2"]));
});

describe("rows under the pointer", () => {
  it("stay where they are, with what is new at the end", () => {
    const next = [{ id: "9" }, { id: "3" }, { id: "1" }];
    expect(ids(keepOrder(["1", "2", "3"], next, (row) => row.id))).toEqual(["1", "3", "9"]);
  });

  it("show what is known now, not what was", () => {
    const [row] = keepOrder(["1"], [{ id: "1", health: "Degraded" }], (one) => one.id);
    expect(row?.health).toBe("Degraded");
  });
});
