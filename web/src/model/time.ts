/* Times in a person's words. `now` is always given: the page's one clock ticks, these functions do not. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `4 min`, `2 h 10 min`, `3 d`: a duration, short and without false precision. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return withRest(Math.floor(ms / HOUR), "h", Math.floor((ms % HOUR) / MINUTE), "min");
  return withRest(Math.floor(ms / DAY), "d", Math.floor((ms % DAY) / HOUR), "h");
}

function withRest(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small && big < 10 ? `${big} ${bigUnit} ${small} ${smallUnit}` : `${big} ${bigUnit}`;
}

/** How long ago, for ages beside numbers: one unit, never in the future. */
export function age(time: string | null | undefined, now: number): string {
  const at = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at)) return "never";
  const passed = now - at;
  if (passed < 5 * SECOND) return "now";
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)} s`;
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`;
  return passed < DAY ? `${Math.floor(passed / HOUR)} h` : `${Math.floor(passed / DAY)} d`;
}

export function ago(time: string | null | undefined, now: number): string {
  const text = age(time, now);
  if (text === "now") return "just now";
  return text === "never" ? text : `${text} ago`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** `the agent's clock was 3 min behind`; empty where both clocks told the same. */
export function clockErrorText(time: string, agentTime: string | null): string {
  const ahead = agentTime ? Date.parse(agentTime) - Date.parse(time) : 0;
  if (!ahead) return "";
  return `the agent's clock was ${duration(Math.abs(ahead))} ${ahead > 0 ? "ahead" : "behind"}`;
}

/** `round trip 12 ms`: whole milliseconds, so that less than one is said as such. */
export function roundTripText(ms: number | null): string {
  if (ms === null) return "not connected";
  return ms < 1 ? "round trip < 1 ms" : `round trip ${Math.round(ms)} ms`;
}

/** `12:03:11` of the reader's own day. */
export function clock(at: number | string, seconds = true): string {
  const date = new Date(at);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return seconds ? `${text}:${two(date.getSeconds())}` : text;
}

/** The clock today, with the date before it on another day. */
export function timeLabel(time: string, now: number): string {
  const date = new Date(time);
  if (date.toDateString() === new Date(now).toDateString()) return clock(time);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(time, false)}`;
}
