import { describe, expect, it } from "vitest";
import { comparable, withoutServerFields } from "@/model/serverFields";

describe("an object without what the server writes", () => {
  const object = {
    status: { phase: "Running" },
    spec: { replicas: 1 },
    metadata: { name: "web", uid: "u", resourceVersion: "7", generation: 2, labels: { a: "b" } },
    kind: "Deployment",
  };

  it("keeps what a person wrote", () =>
    expect(withoutServerFields(object)).toEqual({
      kind: "Deployment",
      metadata: { name: "web", labels: { a: "b" } },
      spec: { replicas: 1 },
    }));
  it("stands in the order of manifests", () =>
    expect(Object.keys(withoutServerFields(object))).toEqual(["kind", "metadata", "spec"]));
  it("has its keys in one order on both sides", () =>
    expect(JSON.stringify(comparable({ spec: { b: [{ d: 1, c: 2 }], a: 0 }, kind: "X" }, false))).toBe(
      '{"kind":"X","spec":{"a":0,"b":[{"c":2,"d":1}]}}',
    ));
  it("is left alone where it has no metadata", () =>
    expect(withoutServerFields({ kind: "List" })).toEqual({ kind: "List" }));
});
