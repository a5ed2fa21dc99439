import { describe, expect, it } from "vitest";
import { hooksOf, isOpen } from "@/model/hooks";
import type { JsonObject } from "@/api/schema";

const hook = (hookPhase: string): JsonObject => ({
  kind: "Job",
  namespace: "shop",
  name: "migrate",
  hookType: "PreSync",
  hookPhase,
  message: "it says so",
});
const plain: JsonObject = { kind: "ConfigMap", name: "settings", status: "Synced" };
const app = (...resources: JsonObject[]) => ({ status: { operationState: { syncResult: { resources } } } });

describe("hooks of the last sync", () => {
  it("are shown with phase, state and message, and objects are not among them", () => {
    const [shown, ...more] = hooksOf(app(plain, hook("Failed")));
    expect(more).toEqual([]);
    expect([shown?.phase, shown?.kind, shown?.name, shown?.mark.word, shown?.message]).toEqual([
      "PreSync",
      "Job",
      "shop/migrate",
      "Failed",
      "it says so",
    ]);
  });

  it("are none where nothing is known of the operation", () => {
    expect(hooksOf({ status: {} })).toEqual([]);
    expect(hooksOf({ status: { operationState: null } })).toEqual([]);
  });

  it.each([
    ["Running", true],
    ["Failed", true],
    ["Succeeded", false],
  ])("%s: needs to be seen: %s", (phase, open) => {
    expect(isOpen(hooksOf(app(hook(phase))))).toBe(open);
  });
});
