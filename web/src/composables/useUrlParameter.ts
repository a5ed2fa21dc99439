/* One value in the address bar. Typing replaces the entry, so that Back leaves the page and not a letter. */
import { computed, type WritableComputedRef } from "vue";
import { useRoute, useRouter } from "vue-router";

export function useUrlParameter(name: string, fallback: string): WritableComputedRef<string> {
  const route = useRoute();
  const router = useRouter();
  return computed({
    get: () => {
      const value = route.query[name];
      return typeof value === "string" && value ? value : fallback;
    },
    set: (value) => {
      const query = { ...route.query, [name]: value === fallback ? undefined : value };
      void router.replace({ query, hash: route.hash });
    },
  });
}
