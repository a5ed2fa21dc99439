/* The filters of the list of applications, read from and written to the address bar. */
import { computed } from "vue";
import { useRoute, useRouter } from "vue-router";
import { build, NO_FILTERS, parse, type Filters } from "@/model/filters";

export function useFilters() {
  const route = useRoute();
  const router = useRouter();
  const filters = computed(() => parse(route.query));

  function change(part: Partial<Filters>): void {
    void router.replace({ query: build({ ...filters.value, ...part }) });
  }

  function clear(): void {
    const { sort, view } = filters.value;
    change({ ...NO_FILTERS, sort, view });
  }

  return { filters, change, clear };
}
