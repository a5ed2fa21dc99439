/* Rows keep their places while a pointer or the focus is among them; the new order comes when it leaves. */
import { computed, ref, shallowRef, watch, type ComputedRef } from "vue";
import { keepOrder } from "@/model/sorting";

export function useStableOrder<T>(rows: () => readonly T[], id: (row: T) => string, restart: () => unknown) {
  const paused = ref(false);
  const order = shallowRef<string[]>([]);

  const shown: ComputedRef<readonly T[]> = computed(() =>
    paused.value ? keepOrder(order.value, rows(), id) : rows(),
  );

  function pause(): void {
    if (paused.value) return;
    order.value = rows().map(id);
    paused.value = true;
  }

  function resume(): void {
    paused.value = false;
  }

  // A new filter is the reader's own wish: its order applies at once.
  watch(restart, resume);

  return { shown, paused, pause, resume };
}
