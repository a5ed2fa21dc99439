/* Facts on a time axis: one lane an environment, one dot where several of a kind would cover each other. */
import { markOf, sentenceOf, type FactKind } from "./facts";
import type { Tone } from "./status";
import { clock } from "./time";
import type { TimelineFact } from "@/api/schema";

export interface Dot {
  id: string;
  x: number;
  kind: FactKind;
  tone: Tone;
  count: number;
  text: string;
}

export interface Lane {
  environment: string;
  dots: Dot[];
}

export interface Tick {
  x: number;
  text: string;
}

export interface Span {
  since: number;
  until: number;
  width: number;
}

const CLOSE = 9;
const SEVERITY: Tone[] = ["bad", "warn", "busy", "good", "calm", "off"];

export function lanes(
  facts: readonly TimelineFact[],
  environmentOf: (fact: TimelineFact) => string,
  span: Span,
): Lane[] {
  const byEnvironment = new Map<string, Map<string, Dot>>();
  for (const fact of facts) {
    const at = Date.parse(fact.time);
    if (at < span.since || at > span.until) continue;
    const environment = environmentOf(fact);
    const dots = byEnvironment.get(environment) ?? new Map<string, Dot>();
    byEnvironment.set(environment, dots);
    add(dots, fact, xOf(at, span));
  }
  return [...byEnvironment]
    .map(([environment, dots]) => ({ environment, dots: [...dots.values()] }))
    .sort(byName);
}

/** The most severe of dots at one point gives the colour. */
function add(dots: Map<string, Dot>, fact: TimelineFact, x: number): void {
  const { kind, tone } = markOf(fact);
  const key = `${kind} ${Math.round(x / CLOSE)}`;
  const known = dots.get(key);
  const text = `${clock(fact.time, false)} ${fact.subject}: ${sentenceOf(fact)}`;
  if (!known) {
    dots.set(key, { id: key, x, kind, tone, count: 1, text });
    return;
  }
  known.count += 1;
  if (SEVERITY.indexOf(tone) < SEVERITY.indexOf(known.tone)) Object.assign(known, { tone, text });
}

export function xOf(at: number, span: Span): number {
  return ((at - span.since) / (span.until - span.since)) * span.width;
}

export function ticks(span: Span): Tick[] {
  const parts = Math.max(2, Math.floor(span.width / 140));
  const step = niceStep((span.until - span.since) / parts);
  const first = Math.ceil(span.since / step) * step;
  const out: Tick[] = [];
  for (let at = first; at <= span.until; at += step) out.push({ x: xOf(at, span), text: clock(at, false) });
  return out;
}

const MINUTE = 60_000;
const STEPS = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => minutes * MINUTE);

function niceStep(least: number): number {
  return STEPS.find((step) => step >= least) ?? 1440 * MINUTE;
}

const byName = (a: Lane, b: Lane) => a.environment.localeCompare(b.environment);

const LEAST_MS = 10 * 60_000;

/**
 * Where the drawing begins: with its time, or, where all facts lie in the last quarter of that, shortly before
 * the first of them. A dense stripe at the edge of an empty chart says nothing.
 */
export function began(facts: readonly TimelineFact[], since: number, until: number): number {
  const first = Date.parse(facts.at(-1)?.time ?? "");
  if (Number.isNaN(first) || first < until - (until - since) / 4) return since;
  return Math.max(since, Math.min(first - (until - first) / 10, until - LEAST_MS));
}
