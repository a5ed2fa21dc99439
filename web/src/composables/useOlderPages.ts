/* The rows of a list that is read page by page: its first page by `useRead`, the others when asked for. */
import { computed, ref, shallowRef, watch, type Ref } from "vue";
import { asProblem } from "@/api/client";
import type { Page } from "@/api/schema";
import { extended, renewed, type Joined } from "@/model/pages";
import { useNotices } from "@/stores/notices";

export function useOlderPages<T>(
  first: Ref<Page<T> | null>,
  ask: (cursor: string) => Promise<Page<T>>,
  id: (row: T) => string,
) {
  const notices = useNotices();
  const none: Joined<T> = { rows: [], next: null };
  const known = shallowRef(none);
  const busy = ref(false);
  let question = 0;

  function renew(page: Page<T> | null): void {
    if (!page) question += 1;
    known.value = page ? renewed(page, known.value, id) : none;
  }

  async function older(): Promise<void> {
    const [{ next }, mine] = [known.value, question];
    if (next === null || busy.value) return;
    busy.value = true;
    try {
      const page = await ask(next);
      if (mine === question) known.value = extended(known.value, page, id);
    } catch (error) {
      notices.show(asProblem(error).detail ?? "", true);
    } finally {
      busy.value = false;
    }
  }

  watch(first, renew, { immediate: true, flush: "sync" });
  return {
    rows: computed(() => known.value.rows),
    more: computed(() => known.value.next !== null),
    busy,
    older,
  };
}
