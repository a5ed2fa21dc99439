/* Names that an agent has told, to choose from while one types; none of them is needed. */
import { computed, type Ref } from "vue";
import { connections } from "@/api/endpoints";
import { distinct } from "@/model/fleet";
import { useApplications } from "@/stores/applications";
import { useRead } from "./useRead";

export function useKnownNames(agent: Ref<string>) {
  const apps = useApplications();
  const { value } = useRead(() => connections.list("repositories"));
  const own = computed(() => apps.all.filter((app) => !agent.value || app.agent.id === agent.value));
  return computed(() => ({
    projects: distinct(own.value.map((app) => app.project)),
    repositories: distinct([
      ...own.value.map((app) => app.repository),
      ...(value.value?.items ?? []).filter((one) => one.agent.id === agent.value).map((one) => one.url),
    ]),
  }));
}
