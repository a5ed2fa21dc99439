import { describe, expect, it } from "vitest";
import { matchesLabels, parseLabels, labelsText } from "@/model/labels";

describe("labels as people type them", () => {
  it.each([
    ["team=core, tier=backend", { team: "core", tier: "backend" }],
    ["team=core tier=", { team: "core", tier: "" }],
    ["url=a=b", { url: "a=b" }],
    ["", {}],
  ])("%s", (text, labels) => expect(parseLabels(text)).toEqual(labels));

  it("come back as they were said", () => {
    const labels = { team: "core", "example.org/tier": "" };
    expect(parseLabels(labelsText(labels))).toEqual(labels);
  });
});

describe("a group of labels", () => {
  it("fits what carries all of them", () =>
    expect(matchesLabels({ team: "core", a: "b" }, { team: "core" })).toBe(true));
  it("does not fit another value", () =>
    expect(matchesLabels({ team: "web" }, { team: "core" })).toBe(false));
  it("fits nothing while it is empty", () => expect(matchesLabels({ team: "web" }, {})).toBe(false));
});
