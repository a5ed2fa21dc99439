/*
 * The filters of the list of applications and the address bar are one thing: parse(build(f)) == f, so that
 * a link pasted in chat shows the same list.
 */
import { HEALTH_ORDER, SYNC_ORDER } from "./status";
import type { ApplicationSummary, HealthStatus, SyncStatus } from "@/api/schema";

export type Sort = "worst" | "name" | "changed";
export type View = "table" | "tiles";

export interface Filters {
  search: string;
  health: HealthStatus[];
  sync: SyncStatus[];
  project: string;
  environment: string;
  region: string;
  agent: string;
  service: string;
  label: string;
  sort: Sort;
  view: View;
}

export const NO_FILTERS: Filters = {
  search: "",
  health: [],
  sync: [],
  project: "",
  environment: "",
  region: "",
  agent: "",
  service: "",
  label: "",
  sort: "worst",
  view: "table",
};

export type UrlQuery = Record<string, string>;
type RawQuery = Record<string, unknown>;

const TEXTS = ["search", "project", "environment", "region", "agent", "service", "label"] as const;

export function parse(query: RawQuery): Filters {
  const text = (name: string) => (typeof query[name] === "string" ? query[name] : "");
  const many = <T extends string>(name: string, known: readonly T[]) => {
    const chosen = new Set(text(name).split(","));
    return known.filter((word) => chosen.has(word));
  };
  const one = <T extends string>(name: string, known: readonly T[], fallback: T) =>
    known.find((word) => word === text(name)) ?? fallback;
  return {
    ...NO_FILTERS,
    ...Object.fromEntries(TEXTS.map((name) => [name, text(name)])),
    health: many("health", HEALTH_ORDER),
    sync: many("sync", SYNC_ORDER),
    sort: one<Sort>("sort", ["worst", "name", "changed"], "worst"),
    view: one<View>("view", ["table", "tiles"], "table"),
  };
}

/** Only what differs from the beginning, so that the plain list has a plain address. */
export function build(filters: Filters): UrlQuery {
  const query: UrlQuery = {};
  for (const name of TEXTS) if (filters[name]) query[name] = filters[name];
  if (filters.health.length) query["health"] = filters.health.join(",");
  if (filters.sync.length) query["sync"] = filters.sync.join(",");
  if (filters.sort !== "worst") query["sort"] = filters.sort;
  if (filters.view !== "table") query["view"] = filters.view;
  return query;
}

/** As it stands in the address bar; what is saved under a name. */
export function asText(filters: Filters): string {
  return new URLSearchParams(build(filters)).toString();
}

export const same = (one: Filters, other: Filters): boolean => asText(one) === asText(other);

export function isFiltered(filters: Filters): boolean {
  return Object.keys(build({ ...filters, sort: "worst", view: "table" })).length > 0;
}

export function matches(app: ApplicationSummary, filters: Filters): boolean {
  const same = (expected: string, value: string) => !expected || expected === value;
  return (
    same(filters.project, app.project) &&
    same(filters.environment, app.environment) &&
    same(filters.region, app.region) &&
    same(filters.agent, app.agent.name) &&
    same(filters.service, app.service) &&
    (!filters.health.length || filters.health.includes(app.health)) &&
    (!filters.sync.length || filters.sync.includes(app.sync)) &&
    hasLabel(app, filters.label) &&
    hasWords(app, filters.search)
  );
}

function hasLabel(app: ApplicationSummary, label: string): boolean {
  if (!label) return true;
  const [name = "", value] = label.split("=", 2);
  const own = app.labels[name.trim()];
  return own !== undefined && (value === undefined || own === value.trim());
}

/** Every word must be somewhere: `pay prod` finds payments in prod. */
function hasWords(app: ApplicationSummary, search: string): boolean {
  if (!search) return true;
  const text = [
    app.name,
    app.namespace,
    app.project,
    app.agent.name,
    app.environment,
    app.region,
    app.service,
  ]
    .concat(app.repository, app.revision, app.images)
    .join(" ")
    .toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
