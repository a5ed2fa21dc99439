/* Rows keep their places while a pointer or the focus is among them; the new order comes when it leaves. */
import { computed, ref, shallowRef, watch, type ComputedRef } from "vue";
import { heldStill } from "@/model/order";

export function useStill<T>(rows: () => readonly T[], id: (row: T) => string, restart: () => unknown) {
  const held = ref(false);
  const order = shallowRef<string[]>([]);

  const shown: ComputedRef<readonly T[]> = computed(() =>
    held.value ? heldStill(order.value, rows(), id) : rows(),
  );

  function hold(): void {
    if (held.value) return;
    order.value = rows().map(id);
    held.value = true;
  }

  function release(): void {
    held.value = false;
  }

  // A new filter is the reader's own wish: its order applies at once.
  watch(restart, release);

  return { shown, held, hold, release };
}
