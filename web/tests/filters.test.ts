import { describe, expect, it } from "vitest";
import { build, isFiltered, matches, NO_FILTERS, parse, type Filters } from "@/model/filters";
import { application } from "./samples";

const filters = (part: Partial<Filters>): Filters => ({ ...NO_FILTERS, ...part });

describe("filters and the address bar", () => {
  const CASES: [string, Partial<Filters>][] = [
    ["nothing", {}],
    ["search", { search: "pay prod" }],
    ["several states", { health: ["Degraded", "Missing"], sync: ["OutOfSync"] }],
    ["places", { environment: "prod", region: "eu", agent: "a", project: "p", service: "s" }],
    ["label", { label: "team=core" }],
    ["order and view", { sort: "changed", view: "tiles" }],
  ];

  it.each(CASES)("say the same there and back: %s", (_, part) => {
    expect(parse(build(filters(part)))).toEqual(filters(part));
  });

  it("leave the plain list a plain address", () => {
    expect(build(NO_FILTERS)).toEqual({});
  });

  it("ignore what somebody typed into the address that is no state", () => {
    expect(parse({ health: "Degraded,Bogus,<script>", sort: "up", view: ["tiles"] })).toEqual(
      filters({ health: ["Degraded"] }),
    );
  });

  it("do not count order and view as filtering", () => {
    expect(isFiltered(filters({ sort: "name", view: "tiles" }))).toBe(false);
    expect(isFiltered(filters({ search: "x" }))).toBe(true);
  });
});

describe("an application matches", () => {
  it.each([
    ["each word anywhere", { search: "PAY prod" }, true],
    ["not when a word is nowhere", { search: "pay dev" }, false],
    ["a commit's beginning", { search: "aaaaaaa" }, true],
    ["a label with its value", { label: "team=core" }, true],
    ["a label by its name", { label: "team" }, true],
    ["not another value", { label: "team=data" }, false],
    ["not another state", { health: ["Degraded"] }, false],
    ["one of several states", { health: ["Degraded", "Healthy"] }, true],
    ["not another environment", { environment: "dev" }, false],
  ] satisfies [string, Partial<Filters>, boolean][])("%s", (_, part, expected) => {
    expect(matches(application(), filters(part))).toBe(expected);
  });
});
