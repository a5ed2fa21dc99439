/* How wide an element is, for drawings that must not be stretched. */
import { onMounted, onScopeDispose, ref, type Ref } from "vue";

export function useWidth(box: Ref<HTMLElement | null>): Ref<number> {
  const width = ref(800);
  const observer = new ResizeObserver(([entry]) => {
    if (entry) width.value = entry.contentRect.width;
  });
  onMounted(() => box.value && observer.observe(box.value));
  onScopeDispose(() => observer.disconnect());
  return width;
}
