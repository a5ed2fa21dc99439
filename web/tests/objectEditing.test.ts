import { describe, expect, it } from "vitest";
import { mergePatch } from "@/model/mergePatch";
import { objectViews } from "@/model/objectViews";
import { byNoun, patternFault, patternsOf } from "@/model/permissions";
import type { TreeNode } from "@/api/schema";

const node: TreeNode = {
  uid: "u1",
  group: "apps",
  version: "v1",
  kind: "Deployment",
  namespace: "shop",
  name: "web",
  health: "Healthy",
  healthMessage: "",
  sync: "Synced",
  parents: [],
  images: [],
  createdAt: null,
  info: [],
};
const ids = (one: TreeNode) => objectViews(one, one).map(({ id }) => id);

describe("a merge patch", () => {
  it("has what was changed, and nothing else", () => {
    const before = {
      metadata: { name: "web", labels: { a: "1", b: "2" } },
      spec: { replicas: 1, ports: [1, 2] },
    };
    const after = { metadata: { name: "web", labels: { a: "1" } }, spec: { replicas: 3, ports: [1] } };
    expect(mergePatch(before, after)).toEqual({
      metadata: { labels: { b: null } },
      spec: { replicas: 3, ports: [1] },
    });
    expect(mergePatch(before, before)).toEqual({});
  });
});

describe("the menu of an object", () => {
  it("offers a terminal for pods that run, where shells are permitted", () => {
    const pod: TreeNode = { ...node, group: "", kind: "Pod" };
    const offered = (one: TreeNode, there: TreeNode | null, shells: boolean) =>
      objectViews(one, there, shells).some(({ id }) => id === "terminal");
    expect(offered(pod, pod, true)).toBe(true);
    expect(offered(pod, pod, false)).toBe(false);
    expect(offered(node, node, true)).toBe(false);
    expect(offered(pod, null, true)).toBe(false);
    expect(offered(pod, { ...pod, orphaned: true }, true)).toBe(false);
  });

  it("offers an edit, unless its values or its own page stand against it", () => {
    expect(ids(node)).toEqual(["summary", "diff", "manifest", "events", "edit", "actions", "delete"]);
    expect(ids({ ...node, kind: "Secret" })).not.toContain("edit");
    expect(ids({ ...node, kind: "Pod" })).toContain("logs");
  });

  it("offers of an orphan only its manifest and its deletion", () => {
    expect(ids({ ...node, orphaned: true })).toEqual(["summary", "manifest", "actions", "delete"]);
  });

  it("offers nothing to do with what is not in the cluster", () => {
    expect(objectViews(node, null).map(({ id }) => id)).not.toContain("delete");
  });
});

describe("the patterns of a role", () => {
  it("are lines, each once", () => {
    expect(patternsOf(" action/*/*/restart \n\naction/*/*/restart")).toEqual(["action/*/*/restart"]);
  });

  it("are refused by name", () => {
    expect(patternFault("action//Pod/*")).toBe("");
    expect(patternFault("action//Pod/*\nrestart")).toContain("restart is no pattern");
  });

  it("stand beside permissions of more than one word", () => {
    expect(byNoun(["gitops_application_override_window", "access_view"])).toEqual([
      { noun: "access", verbs: ["view"] },
      { noun: "application", verbs: ["override window"] },
    ]);
  });
});
