/*
 * Every application the reader may see, kept current by the stream. All of them: filters and search then
 * answer at once, and a thousand rows are half a megabyte.
 */
import { defineStore } from "pinia";
import { computed, ref, shallowRef, watch } from "vue";
import { asProblem } from "@/api/client";
import { applications as api } from "@/api/endpoints";
import type { Application, Change, Problem } from "@/api/types";
import { apply } from "@/model/live";
import { gather } from "./gather";
import { useGlow } from "./glow";
import { useLive } from "./live";

/** The first rows soon, worst first as the service sorts; then the others in as few pages as it gives. */
const [FIRST, PAGE] = [100, 500];

export const useApplications = defineStore("applications", () => {
  const live = useLive();
  const glow = useGlow();
  const known = shallowRef<ReadonlyMap<string, Application>>(new Map());
  const loaded = ref(false);
  const problem = ref<Problem | null>(null);
  const all = computed(() => [...known.value.values()]);
  const again = gather(reread);

  async function load(): Promise<void> {
    try {
      const fresh = new Map<string, Application>();
      let cursor: string | null = "";
      while (cursor !== null) {
        const page: Awaited<ReturnType<typeof api.page>> = await api.page({
          limit: cursor ? PAGE : FIRST,
          cursor,
        });
        for (const app of page.items) fresh.set(app.id, app);
        if (!loaded.value) known.value = new Map(fresh);
        loaded.value = true;
        cursor = page.next;
      }
      known.value = fresh;
      problem.value = null;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }

  async function ensure(): Promise<void> {
    if (!loaded.value) await load();
  }

  function take(changes: readonly Change[]): void {
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

  live.listen((changes) => loaded.value && take(changes));
  watch(
    () => live.reconnected,
    () => loaded.value && load(),
  );

  return { known, all, loaded, problem, ensure, load };
});
