/* The agents, kept current by the stream. */
import { defineStore } from "pinia";
import { ref, shallowRef, watch } from "vue";
import { asProblem } from "@/api/client";
import { agents as api } from "@/api/endpoints";
import type { Agent, Problem } from "@/api/types";
import { useLive } from "./live";

const SOON_MS = 300;

export const useAgents = defineStore("agents", () => {
  const live = useLive();
  const all = shallowRef<Agent[]>([]);
  const loaded = ref(false);
  const problem = ref<Problem | null>(null);
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function load(): Promise<void> {
    try {
      all.value = (await api.list()).items;
      loaded.value = true;
      problem.value = null;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }

  async function ensure(): Promise<void> {
    if (!loaded.value) await load();
  }

  function soon(): void {
    timer ??= setTimeout(() => ((timer = undefined), void load()), SOON_MS);
  }

  const named = (id: string) => all.value.find((agent) => agent.id === id);
  const nameOf = (id: string) => named(id)?.name ?? id;
  const environmentOf = (id: string) => named(id)?.environment ?? "";

  live.listen(
    (changes) => loaded.value && changes.some((change) => change.event === "agent.changed") && soon(),
  );
  watch(
    () => live.reconnected,
    () => loaded.value && soon(),
  );

  return { all, loaded, problem, load, ensure, nameOf, environmentOf };
});
