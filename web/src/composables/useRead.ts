/*
 * Something read from the service: the last known value stays while it is read again, and stays, marked by
 * its problem, when that fails. Late answers to old questions are dropped.
 */
import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from "vue";
import { asProblem } from "@/api/client";
import type { Change, Problem } from "@/api/types";
import { useLive } from "@/stores/live";

export interface Read<T> {
  value: ShallowRef<T | null>;
  problem: Ref<Problem | null>;
  busy: Ref<boolean>;
  again: () => Promise<void>;
}

export interface ReadOptions {
  /** What it depends on: read again when this changes. */
  on?: () => unknown;
  /** Which changes make it old. */
  stale?: (change: Change) => boolean;
  /** Not oftener than this. */
  every?: number;
}

export function useRead<T>(ask: () => Promise<T>, options: ReadOptions = {}): Read<T> {
  const value = shallowRef<T | null>(null);
  const problem = ref<Problem | null>(null);
  const busy = ref(false);
  let question = 0;

  async function again(): Promise<void> {
    const mine = ++question;
    busy.value = true;
    try {
      const answer = await ask();
      if (mine !== question) return;
      value.value = answer;
      problem.value = null;
    } catch (error) {
      if (mine === question) problem.value = asProblem(error);
    } finally {
      if (mine === question) busy.value = false;
    }
  }

  if (options.on) watch(options.on, () => ((value.value = null), void again()));
  keepCurrent(again, options);
  void again();
  return { value, problem, busy, again };
}

function keepCurrent(again: () => Promise<void>, { stale, every = 1000 }: ReadOptions): void {
  if (!stale) return;
  const live = useLive();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const soon = () => {
    timer ??= setTimeout(() => ((timer = undefined), void again()), every);
  };
  const stop = live.listen((changes) => changes.some(stale) && soon());
  watch(() => live.reconnected, soon);
  onScopeDispose(() => (stop(), clearTimeout(timer)));
}
