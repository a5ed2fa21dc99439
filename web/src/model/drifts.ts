/* Drift minutes by the hour: for how long, in each hour, how many objects differed. */
import type { DriftEntry } from "@/api/schema";

const HOUR = 3_600_000;

export interface HourBar {
  began: number;
  minutes: number;
}

export function hourly(drifts: readonly DriftEntry[], now: number, hours = 24): HourBar[] {
  const end = Math.ceil(now / HOUR) * HOUR;
  return Array.from({ length: hours }, (_, i) => {
    const began = end - (hours - i) * HOUR;
    return { began, minutes: Math.round(overlap(drifts, began, began + HOUR, now) / 60_000) };
  });
}

function overlap(drifts: readonly DriftEntry[], from: number, to: number, now: number): number {
  let sum = 0;
  for (const drift of drifts) {
    const began = Date.parse(drift.beganAt);
    const ended = drift.endedAt ? Date.parse(drift.endedAt) : now;
    sum += Math.max(0, Math.min(ended, to) - Math.max(began, from));
  }
  return sum;
}

export const DRIFT_ENDS: Record<DriftEntry["endedHow"], string> = {
  "": "open",
  healed: "self-healed",
  synced: "synced",
  accepted: "accepted in Git",
  gone: "object deleted",
};
