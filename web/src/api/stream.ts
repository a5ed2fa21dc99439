/*
 * The live stream of changes. The service gives a sign of life every `beat` seconds, and says how many that are;
 * two missing ones are a service that is away, dead or frozen. The stream reconnects by itself with the last id
 * it saw, and waits longer after each failure.
 */
import { address } from "./client";
import type { ChangePayload } from "./schema";
import { EventParser, type ServerEvent } from "@/model/sse";

const BEAT_MS = 2000;
const GRACE_MS = 500;
const LONGEST_WAIT_MS = 5000;

export type LinkState = "connecting" | "live" | "broken";

export interface StreamEvents {
  change: (change: ChangePayload) => void;
  state: (state: LinkState) => void;
  /** Changes may be missing before this point of the stream: what is shown must be read anew. */
  gap: () => void;
}

export async function follow(events: StreamEvents, signal: AbortSignal): Promise<void> {
  let lastId = "";
  let failures = 0;
  while (!signal.aborted) {
    const asked = lastId;
    try {
      await readOnce(
        asked,
        signal,
        () => {
          failures = 0;
          events.state("live");
        },
        (event) => {
          lastId = event.id || lastId;
          if (mayMiss(event, asked)) events.gap();
          const change = asChange(event);
          if (change) events.change(change);
        },
      );
    } catch (error) {
      if (signal.aborted) return;
      void error;
    }
    events.state("broken");
    await pause(Math.min(LONGEST_WAIT_MS, 500 * 2 ** failures++) * (0.5 + Math.random() / 2), signal);
  }
}

async function readOnce(
  lastId: string,
  signal: AbortSignal,
  opened: () => void,
  receive: (event: ServerEvent) => void,
): Promise<void> {
  const timeout = new AbortController();
  let patience = patienceOf(BEAT_MS);
  let timer = setTimeout(() => timeout.abort(), patience);
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  try {
    const both = AbortSignal.any([signal, timeout.signal]);
    const response = await fetch(address("/events"), { headers, signal: both, credentials: "same-origin" });
    if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
    opened();
    const parser = new EventParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      clearTimeout(timer);
      for (const event of parser.push(piece.value)) {
        if (event.event === "hello") patience = patienceOf(beatOf(event));
        receive(event);
      }
      timer = setTimeout(() => timeout.abort(), patience);
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A stream that resumes from nowhere begins with its `hello`: a page that was read before that, and changed
 * before that, would never hear of it.
 */
const mayMiss = ({ event }: ServerEvent, resumed: string) =>
  event === "gap" || (event === "hello" && resumed === "");

const patienceOf = (beat: number) => 2 * beat + GRACE_MS;

function beatOf(hello: ServerEvent): number {
  const { beat } = JSON.parse(hello.data) as { beat?: number };
  return beat ? beat * 1000 : BEAT_MS;
}

function asChange(event: ServerEvent): ChangePayload | null {
  try {
    const data = JSON.parse(event.data) as Partial<ChangePayload>;
    return { subject: "", agent: "", project: "", time: "", body: {}, ...data, type: event.event };
  } catch {
    return null;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
