/*
 * Sync windows as a strip of seven days: which days, where each bar begins and ends, and the next change in
 * words. Times are told in the zone of the windows where they have one zone, and else in the reader's own.
 */
import type { SyncOpenNow, SyncWindowCalendar, SyncWindowLane } from "@/api/schema";
import { duration } from "./time";

const DAYS = 7;
const HOUR = 3_600_000;

export interface Day {
  begin: number;
  end: number;
  name: string;
}

export interface Bar {
  /** Percent of the strip. */
  left: number;
  width: number;
  title: string;
}

export interface StateBar extends Bar {
  open: boolean;
}

interface Span {
  begin: string;
  end: string;
}

export function zoneOf(calendar: SyncWindowCalendar): string {
  const zones = new Set(calendar.windows.map(({ timeZone }) => timeZone));
  const [only] = zones;
  return zones.size === 1 && only ? only : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Milliseconds that the zone's clock is ahead of UTC at a time. */
function offset(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(at);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(at / 1000) * 1000;
}

/** The midnight of the zone that begins the day of `at`; a day of 23 or 25 hours is one day. */
function midnight(at: number, zone: string): number {
  const local = at + offset(at, zone);
  const day = Math.floor(local / (24 * HOUR)) * 24 * HOUR;
  const guess = day - offset(at, zone);
  return day - offset(guess, zone);
}

/** Seven days from the beginning of today. */
export function days(calendar: SyncWindowCalendar, zone: string): Day[] {
  const found: Day[] = [];
  let begin = midnight(Date.parse(calendar.now), zone);
  for (let i = 0; i < DAYS; i += 1) {
    const end = midnight(begin + 30 * HOUR, zone);
    const name = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      weekday: "short",
      day: "numeric",
    }).format(begin + HOUR);
    found.push({ begin, end, name });
    begin = end;
  }
  return found;
}

/** `Mon 06:00` in the zone; with the date where it is not within a week. */
export function timeText(time: string | number, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  })
    .format(new Date(time))
    .replace(",", "");
}

/** Where a time stands on the strip, in percent. */
export function position(at: number, strip: readonly Day[]): number {
  const [first, last] = [strip[0]?.begin ?? 0, strip.at(-1)?.end ?? 1];
  return ((at - first) / (last - first)) * 100;
}

function bar<T extends Span>(span: T, strip: readonly Day[], title: string): Bar | null {
  const left = Math.max(0, position(Date.parse(span.begin), strip));
  const right = Math.min(100, position(Date.parse(span.end), strip));
  return right > left ? { left, width: right - left, title } : null;
}

export function stateBars(
  calendar: SyncWindowCalendar,
  strip: readonly Day[],
  way: "automated" | "byHand",
  zone: string,
): StateBar[] {
  return calendar.states.flatMap((state) => {
    const open = state[way];
    const title = `${open ? "Open" : "Closed"} ${timeText(state.begin, zone)} to ${timeText(state.end, zone)}`;
    const found = bar(state, strip, title);
    return found ? [{ ...found, open }] : [];
  });
}

export function laneBars(lane: SyncWindowLane, strip: readonly Day[], zone: string): Bar[] {
  return lane.periods.flatMap((period) => {
    const title = `Active ${timeText(period.begin, zone)} to ${timeText(period.end, zone)}`;
    return bar(period, strip, title) ?? [];
  });
}

/** What a window is called: its description, or what it does and for how long. */
export function laneName(lane: SyncWindowLane): string {
  return lane.description || `${lane.kind === "allow" ? "Allow" : "Deny"} for ${hours(lane)}`;
}

const hours = ({ seconds }: SyncWindowLane) => duration(seconds * 1000);

/** `deny, 0 22 * * 1-5 for 8 h, Europe/Berlin; syncs by hand pass`. */
export function laneText(lane: SyncWindowLane): string {
  const rules = [
    `${lane.kind}, ${lane.schedule} for ${hours(lane)}, ${lane.timeZone}`,
    lane.manualSync ? "syncs by hand pass" : "",
    lane.syncOverrun ? "a running sync may end" : "",
  ];
  return rules.filter(Boolean).join("; ");
}

/** `applications *` and `clusters prod-*`: which applications the window chooses. */
export function chosenText(lane: SyncWindowLane): string {
  const lists = (["applications", "namespaces", "clusters"] as const)
    .filter((name) => lane[name].length)
    .map((name) => `${name} ${lane[name].join(", ")}`);
  return lists.length ? lists.join(lane.andOperator ? " and " : " or ") : "no application";
}

/** `Automated syncs are closed until Mon 06:00, in 3 h 12 min.` */
export function openText(what: string, state: SyncOpenNow, now: number, zone: string): string {
  const is = state.open ? "open" : "closed";
  if (!state.until) return `${what} are ${is}, with no change in the next seven days.`;
  const left = duration(Math.max(0, Date.parse(state.until) - now));
  const at = timeText(state.until, zone);
  return state.open
    ? `${what} are open until ${at}, for ${left}.`
    : `${what} are closed until ${at}, for ${left}.`;
}
