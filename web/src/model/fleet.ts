/* The fleet page's arithmetic: rows of environments, worst environment first within its kind, totals in words. */
import { HEALTH_ORDER } from "./status";
import type { FleetCell, HealthStatus } from "@/api/schema";

export interface EnvironmentRow {
  environment: string;
  cells: FleetCell[];
}

/** Production before what leads to it: the order in which trouble matters. */
const RANK = ["prod", "production", "live", "staging", "stage", "qa", "test", "dev", "development"];

export function rows(cells: readonly FleetCell[], environment: string, region: string): EnvironmentRow[] {
  const chosen = cells.filter(
    (cell) => (!environment || cell.environment === environment) && (!region || cell.region === region),
  );
  return byRank(chosen.map((cell) => cell.environment)).map((name) => ({
    environment: name,
    cells: chosen.filter((cell) => cell.environment === name),
  }));
}

/** Each once, production first. */
export function byRank(environments: readonly string[]): string[] {
  return [...new Set(environments)].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

function rank(environment: string): number {
  const at = RANK.indexOf(environment.toLowerCase());
  return at < 0 ? RANK.length : at;
}

export function total(cell: FleetCell): number {
  return HEALTH_ORDER.reduce((sum, health) => sum + (cell.health[health] ?? 0), 0);
}

export function summed(cells: readonly FleetCell[]): {
  health: Partial<Record<HealthStatus, number>>;
  outOfSync: number;
} {
  const health: Partial<Record<HealthStatus, number>> = {};
  let outOfSync = 0;
  for (const cell of cells) {
    outOfSync += cell.outOfSync;
    for (const name of HEALTH_ORDER) {
      const n = cell.health[name];
      if (n) health[name] = (health[name] ?? 0) + n;
    }
  }
  return { health, outOfSync };
}

export const distinct = (values: readonly string[]): string[] => [...new Set(values.filter(Boolean))].sort();
