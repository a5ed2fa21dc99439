/*
 * Every application the reader may see, kept current by the stream. All of them: filters and search then
 * answer at once, and a thousand rows are half a megabyte.
 */
import { defineStore } from "pinia";
import { computed, ref, shallowRef, watch } from "vue";
import { asProblem } from "@/api/client";
import { applications as api } from "@/api/endpoints";
import type { ApplicationSummary, ChangePayload, ProblemDetails } from "@/api/schema";
import { apply } from "@/model/live";
import { collect } from "./rereadBatch";
import { useHighlights } from "./highlights";
import { useLive } from "./live";

/** The first rows soon, worst first as the service sorts; then the others in as few pages as it gives. */
const [FIRST, PAGE] = [100, 500];

/** `begun` is told of the first page, so that something can be shown. */
async function readAll(
  begun: (first: Map<string, ApplicationSummary>) => void,
): Promise<Map<string, ApplicationSummary>> {
  const all = new Map<string, ApplicationSummary>();
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: Awaited<ReturnType<typeof api.page>> = await api.page({
      limit: cursor ? PAGE : FIRST,
      cursor,
    });
    for (const app of page.items) all.set(app.id, app);
    if (!cursor) begun(new Map(all));
    cursor = page.next;
  }
  return all;
}

export const useApplications = defineStore("applications", () => {
  const live = useLive();
  const glow = useHighlights();
  const known = shallowRef<ReadonlyMap<string, ApplicationSummary>>(new Map());
  const loaded = ref(false);
  const problem = ref<ProblemDetails | null>(null);
  const all = computed(() => [...known.value.values()]);
  const again = collect(reread);
  /** Of each reading of the list under way: what was received meanwhile, since its answers may be older. */
  const readings = new Set<ChangePayload[]>();

  async function load(): Promise<void> {
    const received: ChangePayload[] = [];
    readings.add(received);
    try {
      const fresh = await readAll((first) => {
        if (!loaded.value) known.value = first;
        loaded.value = true;
      });
      known.value = fresh;
      problem.value = null;
      take(received);
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      readings.delete(received);
    }
  }

  async function ensure(): Promise<void> {
    if (!loaded.value) await load();
  }

  function take(changes: readonly ChangePayload[]): void {
    const effect = apply(known.value, changes);
    known.value = effect.apps;
    glow.mark(effect.touched);
    again(effect.stale, effect.all);
  }

  async function reread(ids: string[], everything: boolean): Promise<void> {
    if (!everything) return void (await Promise.allSettled(ids.map(readOne)));
    await load();
    glow.mark(ids);
  }

  async function readOne(id: string): Promise<void> {
    const app = await api.one(id);
    known.value = new Map(known.value).set(id, app);
    glow.mark([id]);
  }

  live.listen((changes) => {
    for (const received of readings) received.push(...changes);
    if (loaded.value) take(changes);
  });
  watch(
    () => live.reconnected,
    () => loaded.value && load(),
  );

  return { known, all, loaded, problem, ensure, load };
});
