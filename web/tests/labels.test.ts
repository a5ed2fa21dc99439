import { describe, expect, it } from "vitest";
import { carries, parseLabels, sayLabels } from "@/model/labels";

describe("labels as people type them", () => {
  it.each([
    ["team=core, tier=backend", { team: "core", tier: "backend" }],
    ["team=core tier=", { team: "core", tier: "" }],
    ["url=a=b", { url: "a=b" }],
    ["", {}],
  ])("%s", (text, labels) => expect(parseLabels(text)).toEqual(labels));

  it("come back as they were said", () => {
    const labels = { team: "core", "example.org/tier": "" };
    expect(parseLabels(sayLabels(labels))).toEqual(labels);
  });
});

describe("a group of labels", () => {
  it("fits what carries all of them", () =>
    expect(carries({ team: "core", a: "b" }, { team: "core" })).toBe(true));
  it("does not fit another value", () => expect(carries({ team: "web" }, { team: "core" })).toBe(false));
  it("fits nothing while it is empty", () => expect(carries({ team: "web" }, {})).toBe(false));
});
