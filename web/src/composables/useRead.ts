/*
 * Something read from the service: the last known value stays while it is read again, and stays, marked by
 * its problem, when that fails. Late answers to old questions are dropped; an answer is not dropped because a
 * change made somebody ask again meanwhile, or a busy stream and a slow service would never show anything.
 */
import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from "vue";
import { asProblem } from "@/api/client";
import type { ChangePayload, ProblemDetails } from "@/api/schema";
import { useLive } from "@/stores/live";

export interface Read<T> {
  value: ShallowRef<T | null>;
  problem: Ref<ProblemDetails | null>;
  busy: Ref<boolean>;
  again: () => Promise<void>;
}

export interface ReadOptions {
  /** What it depends on: read again when this changes. */
  on?: () => unknown;
  /** Which changes make it old. */
  stale?: (change: ChangePayload) => boolean;
  /** Not oftener than this. */
  every?: number;
}

export function useRead<T>(ask: () => Promise<T>, options: ReadOptions = {}): Read<T> {
  const value = shallowRef<T | null>(null);
  const problem = ref<ProblemDetails | null>(null);
  const busy = ref(false);
  /** Answers come in any order: one counts unless a later question was answered before it. */
  let [question, answered] = [0, 0];

  async function again(): Promise<void> {
    const mine = ++question;
    busy.value = true;
    try {
      const answer = await ask();
      if (mine > answered) [answered, value.value, problem.value] = [mine, answer, null];
    } catch (error) {
      if (mine > answered) [answered, problem.value] = [mine, asProblem(error)];
    } finally {
      if (mine === question) busy.value = false;
    }
  }

  if (options.on)
    watch(options.on, () => {
      [answered, value.value] = [question, null];
      void again();
    });
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
