import { describe, expect, it } from "vitest";
import type { JsonObject, ObjectDiff } from "@/api/schema";
import { sides, steps } from "@/model/diffSides";

const desired: JsonObject = {
  kind: "Deployment",
  spec: { replicas: 2, containers: [{ name: "web", image: "web:2" }] },
};
const live: JsonObject = {
  kind: "Deployment",
  spec: {
    replicas: 1,
    paused: true,
    progressDeadlineSeconds: 600,
    containers: [{ name: "web", image: "web:1", resources: {} }],
  },
  status: { replicas: 1 },
};
const object: ObjectDiff = {
  key: "apps/Deployment/shop/web",
  modified: true,
  desired,
  live,
  changes: [
    { path: "spec.replicas", desired: 2, live: 1 },
    { path: "spec.paused", desired: null, live: true },
    { path: "spec.containers[name=web].image", desired: "web:2", live: "web:1" },
  ],
};

describe("the sides of a difference", () => {
  it("differ in the changes alone, without the server's defaults", () =>
    expect(sides(object, false)).toEqual({
      desired,
      live: {
        kind: "Deployment",
        spec: { replicas: 1, paused: true, containers: [{ name: "web", image: "web:1" }] },
      },
    }));
  it("have the server's defaults on both sides where they are asked for", () =>
    expect(sides(object, true)).toEqual({
      live,
      desired: {
        kind: "Deployment",
        spec: {
          replicas: 2,
          progressDeadlineSeconds: 600,
          containers: [{ name: "web", image: "web:2", resources: {} }],
        },
        status: { replicas: 1 },
      },
    }));
  it("are as they came where no change is known", () =>
    expect(sides({ ...object, changes: [] }, false)).toEqual({ live, desired }));
  it("leave the answer as it was", () => {
    sides(object, true);
    expect(live.spec).toHaveProperty("paused", true);
  });
});

describe("the path of a field", () => {
  it.each([
    ["spec.a.b", ["spec", "a", "b"]],
    ['metadata.labels["a.b/c"]', ["metadata", "labels", "a.b/c"]],
    ["spec.rules[0].host", ["spec", "rules", 0, "host"]],
    ["spec.ports[port=80,protocol=TCP].name", ["spec", "ports", { port: "80", protocol: "TCP" }, "name"]],
  ])("%s is read", (path, expected) => expect(steps(path)).toEqual(expected));
});
