/* The agents, kept current by the stream. */
import { defineStore } from "pinia";
import { ref, shallowRef, watch } from "vue";
import { asProblem } from "@/api/client";
import { agents as api } from "@/api/endpoints";
import type { AgentSummary, ProblemDetails } from "@/api/schema";
import { useLive } from "./live";

const SOON_MS = 300;

export const useAgents = defineStore("agents", () => {
  const live = useLive();
  const all = shallowRef<AgentSummary[]>([]);
  const loaded = ref(false);
  const problem = ref<ProblemDetails | null>(null);
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts what was asked: only the newest answer counts, and before the first nothing can be old. */
  let question = 0;

  async function load(): Promise<void> {
    const mine = ++question;
    try {
      const { items } = await api.list();
      if (mine !== question) return;
      all.value = items;
      loaded.value = true;
      problem.value = null;
    } catch (error) {
      if (mine === question) problem.value = asProblem(error);
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

  live.listen((changes) => question && changes.some((change) => change.type === "agent.changed") && soon());
  watch(
    () => live.reconnected,
    () => question && soon(),
  );

  return { all, loaded, problem, load, ensure, nameOf, environmentOf };
});
