/* What every section of the settings does: list one noun, add to it, remove from it. */
import { computed, ref } from "vue";
import { access as api, type AccessNoun } from "@/api/endpoints";
import type { JsonObject, Page } from "@/api/schema";
import { useNotices } from "@/stores/notices";
import { useSession } from "@/stores/session";
import { useRead } from "./useRead";

export function useSection<Row>(noun: AccessNoun, ask: () => Promise<Page<Row>>) {
  const session = useSession();
  const notices = useNotices();
  const { value, problem, again } = useRead(ask);
  const rows = computed(() => value.value?.items ?? null);
  const adding = ref(false);
  const locked = computed(() => !session.may("access_edit"));

  async function remove(id: string, name: string): Promise<void> {
    if (await notices.attempt(`${name} removed`, () => api.remove(noun, id))) await again();
  }

  async function added(): Promise<void> {
    adding.value = false;
    await again();
  }

  const create = (body: JsonObject) => api.create(noun, body);
  return { rows, problem, again, adding, locked, remove, added, create };
}
