import { describe, expect, it } from "vitest";
import type { ServiceSummary } from "@/api/schema";
import { cellTone, serviceTable, concernsInstances } from "@/model/services";

function cell(name: string, environment: string, part: Partial<ServiceSummary> = {}): ServiceSummary {
  const counts = { applications: 1, instances: 2, ready: 2, healthy: 1, outOfSync: 0, leftOut: 0 };
  return { name, environment, regions: [], images: [], revisions: [], of: [], ...counts, ...part };
}

describe("services by environment", () => {
  const table = serviceTable([
    cell("web", "dev"),
    cell("payments", "dev"),
    cell("payments", "prod", { applications: 2 }),
  ]);

  it("stand by name, with the applications of all environments", () =>
    expect(table.rows.map((row) => [row.name, row.applications])).toEqual([
      ["payments", 3],
      ["web", 1],
    ]));
  it("have production first", () => expect(table.environments).toEqual(["prod", "dev"]));
  it("have no cell where they are not", () => expect(table.rows[1]?.cells.get("prod")).toBeUndefined());
});

describe("the tone of a cell", () => {
  it.each([
    ["good", {}],
    ["warn", { ready: 1 }],
    ["warn", { healthy: 0 }],
    ["bad", { ready: 0 }],
    ["off", { instances: 0, ready: 0 }],
  ] as const)("is %s for %o", (tone, part) => expect(cellTone(cell("web", "dev", part))).toBe(tone));
});

describe("what makes the page of services old", () => {
  it.each([
    ["application.changed", {}, true],
    ["object.changed", { kind: "Instances" }, true],
    ["object.changed", { kind: "Repository" }, false],
    ["fact", {}, false],
  ])("%s %o: %s", (type, body, old) => expect(concernsInstances({ type, body })).toBe(old));
});
