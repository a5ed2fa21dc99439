/* The order of lists, and holding it still while somebody points at a row. */
import { severity } from "./status";
import type { Sort } from "./filters";
import type { ApplicationSummary } from "@/api/schema";

const name = (a: ApplicationSummary, b: ApplicationSummary) =>
  a.name.localeCompare(b.name) || a.agent.name.localeCompare(b.agent.name);
const since = (app: ApplicationSummary) => app.healthSince ?? app.syncSince ?? app.asOf;
const newest = (a: ApplicationSummary, b: ApplicationSummary) => since(b).localeCompare(since(a));

const COMPARE: Record<Sort, (a: ApplicationSummary, b: ApplicationSummary) => number> = {
  worst: (a, b) => severity(a) - severity(b) || name(a, b),
  name,
  changed: (a, b) => newest(a, b) || name(a, b),
};

export function ordered(apps: readonly ApplicationSummary[], sort: Sort): ApplicationSummary[] {
  return [...apps].sort(COMPARE[sort]);
}

/** `next` in the order that `shown` has: known rows stay where they are, what is new comes last. */
export function keepOrder<T>(shown: readonly string[], next: readonly T[], id: (row: T) => string): T[] {
  const byId = new Map(next.map((row) => [id(row), row]));
  const kept: T[] = [];
  for (const key of shown) {
    const row = byId.get(key);
    if (row !== undefined) kept.push(row);
    byId.delete(key);
  }
  return [...kept, ...byId.values()];
}
