/* Whether a shell may be offered: the caller's permission, and what the owner of the agent's cluster permits. */
import { computed } from "vue";
import { useAgents } from "@/stores/agents";
import { useSession } from "@/stores/session";

export function useShells(agent: () => string) {
  const [agents, session] = [useAgents(), useSession()];
  void agents.ensure();
  const shells = computed(() => {
    const permitted = agents.all.find(({ id }) => id === agent())?.allowed.exec === true;
    return permitted && session.may("gitops_application_exec");
  });
  return { shells };
}
