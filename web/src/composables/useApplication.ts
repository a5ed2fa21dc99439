/* One application and what its agent says of its objects, read again when the stream says that it changed. */
import { computed, onScopeDispose } from "vue";
import { applications as api } from "@/api/endpoints";
import type { AgentStatus, ChangePayload } from "@/api/schema";
import { useLive } from "@/stores/live";
import { useRead } from "./useRead";

export function useApplication(id: () => string) {
  const detail = useRead(() => api.one(id()), { on: id, stale: about, every: 300 });
  const app = detail.value;
  onScopeDispose(useLive().listen((changes) => changes.forEach(agentTurned)));

  /** Before the first answer it may be about this application: that answer may be older than the change. */
  function about(change: ChangePayload): boolean {
    const known = app.value;
    return (
      known === null ||
      (change.agent === known.agent.id && change.subject.endsWith(`${known.namespace}/${known.name}`))
    );
  }

  /** Everything here is as old as its agent is away; that alone is no reason to read it again. */
  function agentTurned({ type, agent, body }: ChangePayload): void {
    const known = app.value;
    if (type !== "agent.changed" || agent !== known?.agent.id || typeof body["status"] !== "string") return;
    app.value = { ...known, agent: { ...known.agent, status: body["status"] as AgentStatus } };
  }

  return {
    app,
    problem: detail.problem,
    again: detail.again,
    about,
    missing: computed(() => detail.problem.value?.status === 404),
  };
}
