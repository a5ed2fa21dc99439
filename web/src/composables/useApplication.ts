/* One application and what its agent says of its objects, read again when the stream says that it changed. */
import { computed } from "vue";
import { applications as api } from "@/api/endpoints";
import type { Change } from "@/api/types";
import { useRead } from "./useRead";

export function useApplication(id: () => string) {
  const detail = useRead(() => api.one(id()), { on: id, stale: about, every: 300 });
  const app = detail.value;

  function about(change: Change): boolean {
    const known = app.value;
    return (
      known !== null &&
      change.agent === known.agent.id &&
      change.subject.endsWith(`${known.namespace}/${known.name}`)
    );
  }

  return {
    app,
    problem: detail.problem,
    again: detail.again,
    about,
    missing: computed(() => detail.problem.value?.status === 404),
  };
}
