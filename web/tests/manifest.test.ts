import { describe, expect, it } from "vitest";
import { NEW_APPLICATION, readManifest, valueAt, withValue } from "@/model/manifest";

const text = "kind: Application\nmetadata:\n  name: web # ours\nspec:\n  source:\n    path: apps/web\n";

describe("a manifest that is read", () => {
  it("is an object of its kind", () =>
    expect(readManifest(text, "Application").manifest).toMatchObject({ metadata: { name: "web" } }));
  it.each([
    ["", /empty/],
    ["- a\n- b\n", /not a manifest/i],
    ["kind: Deployment\n", /kind is Deployment, expected Application/],
    ["kind: Application\n---\nkind: Application\n", /more than one document/],
    ["kind: Application\nspec: {a: 1\n", /./],
  ])("is refused in words: %j", (wrong, words) => {
    const { manifest, fault } = readManifest(wrong, "Application");
    expect(manifest).toBeNull();
    expect(fault).toMatch(words);
  });
  it("says in which line it is wrong", () =>
    expect(readManifest("kind: Application\nspec:\n  a: b: c\n", "Application").line).toBe(3));
});

describe("a field of a manifest", () => {
  const path = ["metadata", "name"];
  it("is what stands there", () => expect(valueAt(text, path)).toBe("web"));
  it("is nothing where nothing stands", () => expect(valueAt(text, ["spec", "project"])).toBeUndefined());
  it("is changed alone: comments stay", () =>
    expect(withValue(text, path, "shop")).toBe(text.replace("web #", "shop #")));
  it("is what was set", () =>
    expect(valueAt(withValue(text, ["spec", "a", "b"], true), ["spec", "a", "b"])).toBe(true));
  it("takes the map with it that it leaves empty", () =>
    expect(
      valueAt(withValue(text, ["spec", "source", "path"], undefined), ["spec", "source"]),
    ).toBeUndefined());
  it("leaves a text alone that cannot be read", () =>
    expect(withValue("a: b: c", path, "x")).toBe("a: b: c"));
});

describe("a new application", () => {
  it("begins as a manifest", () => expect(readManifest(NEW_APPLICATION, "Application").fault).toBe(""));
});
