/*
 * The one live stream of the page. Changes are gathered and handed out once a frame, so that a burst costs
 * one reordering and not two hundred. Pages subscribe; nothing polls.
 */
import { defineStore } from "pinia";
import { ref } from "vue";
import { follow, type LinkState } from "@/api/stream";
import { taskChanged } from "@/api/tasks";
import type { ChangePayload } from "@/api/schema";

type Listener = (changes: readonly ChangePayload[]) => void;

const COLLECT_MS = 100;

export const useLive = defineStore("live", () => {
  const state = ref<LinkState>("connecting");
  /** Since when nothing was heard; 0 while the stream lives. */
  const brokenAt = ref(0);
  /** Counts the times at which changes may have been missed: who shows something reads it again. */
  const reconnected = ref(0);
  const listeners = new Set<Listener>();
  let waiting: ChangePayload[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: AbortController | undefined;

  function start(): void {
    if (stop) return;
    stop = new AbortController();
    void follow({ change: collect, state: turned, gap: () => (reconnected.value += 1) }, stop.signal);
  }

  function end(): void {
    stop?.abort();
    stop = undefined;
    state.value = "connecting";
    brokenAt.value = 0;
  }

  function turned(next: LinkState): void {
    if (next === "live" && state.value === "broken") reconnected.value += 1;
    brokenAt.value = next === "broken" ? brokenAt.value || Date.now() : 0;
    state.value = next;
  }

  function collect(change: ChangePayload): void {
    waiting.push(change);
    timer ??= setTimeout(handOut, COLLECT_MS);
  }

  function handOut(): void {
    timer = undefined;
    const batch = waiting;
    waiting = [];
    for (const change of batch) if (change.type === "task.changed") taskChanged(change.subject);
    listeners.forEach((notify) => notify(batch));
  }

  function listen(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return { state, brokenAt, reconnected, start, end, listen };
});
