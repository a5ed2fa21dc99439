import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Comparison } from "./compare";
import { readDocument } from "./service";

/** A type of src/api/types.ts and the schema of the service it stands for. */
const SAME: [type: string, schema: string][] = [
  ["Problem", "Problem"],
  ["Me", "Me"],
  ["Application", "Application"],
  ["ApplicationDetail", "ApplicationDetail"],
  ["Push", "Push"],
  ["HistoryEntry", "Deployment"],
  ["Fact", "TimelineFact"],
  ["Fleet", "Fleet"],
  ["FleetThen", "FleetThen"],
  ["Instance", "Instance"],
  ["ServiceCell", "ServiceOf"],
  ["SavedFilter", "service.api.filters.Filter"],
  ["Drift", "DriftEntry"],
  ["Agent", "Agent"],
  ["Task", "Task"],
  ["SyncRequest", "Sync"],
  ["SyncPreview", "Preview"],
  ["Connection", "Connection"],
  ["AppProject", "AppProject"],
  ["AppProjectDetail", "AppProjectDetail"],
  ["AuditEntry", "AuditRecord"],
  ["Organisation", "Organisation"],
  ["Project", "Project"],
  ["Principal", "PrincipalDetail"],
  ["Token", "Token"],
  ["Role", "Role"],
  ["Binding", "Binding"],
  ["ResourceGroup", "Group"],
  ["Webhook", "Webhook"],
  ["Delivery", "Delivery"],
];

const document = readDocument();
const TYPES = fileURLToPath(new URL("../../src/api/types.ts", import.meta.url));

describe("what the dashboard reads is what the service gives", () => {
  it("in every field of every type", () => {
    const comparison = new Comparison(TYPES, document);
    for (const [type, schema] of SAME) comparison.compare(type, schema);
    expect(comparison.faults).toEqual([]);
  }, 60_000);
});
