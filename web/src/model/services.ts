/* Services down, environments across: what runs of each. */
import type { ChangePayload, ServiceSummary } from "@/api/schema";
import { byRank } from "./fleet";

export interface ServiceRow {
  name: string;
  applications: number;
  /** By environment. */
  cells: Map<string, ServiceSummary>;
}

/** Rows by name; environments in the order in which trouble matters. */
export function serviceTable(cells: readonly ServiceSummary[]): {
  environments: string[];
  rows: ServiceRow[];
} {
  const rows = new Map<string, ServiceRow>();
  for (const cell of cells) {
    const row = rows.get(cell.name) ?? { name: cell.name, applications: 0, cells: new Map() };
    row.applications += cell.applications;
    row.cells.set(cell.environment, cell);
    rows.set(cell.name, row);
  }
  return {
    environments: byRank(cells.map((cell) => cell.environment)),
    rows: [...rows.values()].sort((a, b) => a.name.localeCompare(b.name)),
  };
}

/** What needs a person first: pods that are not ready, then applications that are not healthy. */
export function cellTone(cell: ServiceSummary): "good" | "warn" | "bad" | "off" {
  const ill = cell.healthy < cell.applications;
  if (!cell.instances) return ill ? "warn" : "off";
  if (!cell.ready) return "bad";
  return cell.ready < cell.instances || ill ? "warn" : "good";
}

/** Whether a change may be one of what runs: pods are told apart from their application. */
export function concernsInstances(change: Pick<ChangePayload, "type" | "body">): boolean {
  return (
    change.type === "application.changed" ||
    (change.type === "object.changed" && change.body.kind === "Instances")
  );
}
