import { describe, expect, it } from "vitest";
import { changesNothing, fails } from "@/model/syncPreview";
import type { SyncPreview } from "@/api/schema";

const plan = (part: Partial<SyncPreview>): SyncPreview => ({
  revision: "",
  create: [],
  change: [],
  prune: [],
  skip: [],
  refuse: [],
  ...part,
});
const one = [{ key: "/ConfigMap/shop/settings", note: "the project does not permit it" }];

describe("a plan", () => {
  it.each([
    [plan({}), true],
    [plan({ skip: one }), true],
    [plan({ change: ["/ConfigMap/shop/settings"] }), false],
    [plan({ refuse: one }), false],
  ])("changes nothing, or does: %#", (known, nothing) => expect(changesNothing(known)).toBe(nothing));

  it("with a refused object fails, whatever else it would change", () => {
    expect(fails(plan({ create: ["/Service/shop/web"], refuse: one }))).toBe(true);
    expect(fails(plan({ create: ["/Service/shop/web"], skip: one }))).toBe(false);
  });
});
