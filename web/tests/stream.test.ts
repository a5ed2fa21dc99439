/* The stream, and the deadline after which a service that says nothing is away. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { follow, type LinkState } from "@/api/stream";

let states: LinkState[];
let gaps: number;
let stop: AbortController;
let send: (text: string) => void;

beforeEach(() => {
  vi.useFakeTimers();
  [states, gaps, stop] = [[], 0, new AbortController()];
  vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (text) => controller.enqueue(new TextEncoder().encode(text));
        signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
      },
    });
    return Promise.resolve(new Response(body));
  });
  const ignore = () => undefined;
  void follow({ change: ignore, gap: () => (gaps += 1), state: (state) => states.push(state) }, stop.signal);
});
afterEach(() => {
  stop.abort();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a service that accepts the stream", () => {
  it("lives for as long as it beats", async () => {
    await vi.advanceTimersByTimeAsync(10);
    for (let beat = 0; beat < 10; beat++) {
      send(": beat\n\n");
      await vi.advanceTimersByTimeAsync(2000);
    }
    expect(states).toEqual(["live"]);
  });

  it("is away when it falls silent, though the line stands: within five seconds", async () => {
    await vi.advanceTimersByTimeAsync(10);
    send(": beat\n\n");
    await vi.advanceTimersByTimeAsync(5000);
    expect(states.slice(0, 2)).toEqual(["live", "broken"]);
  });

  it("may beat more slowly, and says so", async () => {
    await vi.advanceTimersByTimeAsync(10);
    send('event: hello\ndata: {"beat": 10}\n\n');
    await vi.advanceTimersByTimeAsync(15_000);
    expect(states).toEqual(["live"]);
  });
});

describe("a page that was read before its stream began", () => {
  it("is told to read again, once: what changed in between was told to nobody", async () => {
    await vi.advanceTimersByTimeAsync(10);
    expect(gaps).toBe(0);
    send('id: 7\nevent: hello\ndata: {"resume": 7, "beat": 2}\n\n');
    await vi.advanceTimersByTimeAsync(10);
    expect(gaps).toBe(1);
  });

  it("misses nothing when its stream resumes where it was cut", async () => {
    await vi.advanceTimersByTimeAsync(10);
    send('id: 7\nevent: hello\ndata: {"resume": 7, "beat": 2}\n\n');
    await vi.advanceTimersByTimeAsync(5500);
    send('id: 7\nevent: hello\ndata: {"resume": 7, "beat": 2}\n\n');
    await vi.advanceTimersByTimeAsync(10);
    expect(states).toEqual(["live", "broken", "live"]);
    expect(gaps).toBe(1);
  });
});
