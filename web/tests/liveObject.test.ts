import { describe, expect, it } from "vitest";
import { changesNothing, isComplete, manifestText, valueText } from "@/model/liveObject";

const NOTHING = { changes: [], creates: [], deletes: [], drift: [], notes: [] };

describe("a change of one live object", () => {
  it("shows texts as they are and says which fields are absent", () => {
    expect([valueText("a"), valueText(3), valueText({ a: 1 }), valueText(null)]).toEqual([
      "a",
      "3",
      '{"a":1}',
      "absent",
    ]);
  });

  it("changes nothing where no field and no object changes", () => {
    expect(changesNothing(NOTHING)).toBe(true);
    expect(changesNothing({ ...NOTHING, deletes: ["/Pod/a/b"] })).toBe(false);
    expect(changesNothing({ ...NOTHING, changes: [{ path: "a", before: 1, after: 2 }] })).toBe(false);
  });

  it("names a new object by its kind and name", () => {
    expect(manifestText({ kind: "Job", metadata: { name: "run" } })).toBe("Job run");
    expect(manifestText({ kind: "Job", metadata: { generateName: "run-" } })).toBe("Job run-…");
  });

  it("is complete with a value for every parameter", () => {
    expect(isComplete([], {})).toBe(true);
    expect(isComplete(["replicas"], {})).toBe(false);
    expect(isComplete(["replicas"], { replicas: "0" })).toBe(true);
  });
});
