/* Only the rows in sight are in the document: rows of one height, in the page's own scroll. */
import { computed, onMounted, onScopeDispose, ref, type Ref } from "vue";

const SPARE = 12;

export function useVirtualRows(box: Ref<HTMLElement | null>, total: () => number, height: () => number) {
  const top = ref(0);
  const seen = ref(900);
  let frame = 0;

  const first = computed(() => Math.max(0, Math.floor(top.value / height()) - SPARE));
  const last = computed(() => Math.min(total(), Math.ceil((top.value + seen.value) / height()) + SPARE));
  const before = computed(() => first.value * height());
  const after = computed(() => Math.max(0, (total() - last.value) * height()));

  function measure(): void {
    frame = 0;
    const rect = box.value?.getBoundingClientRect();
    if (!rect) return;
    top.value = Math.max(0, -rect.top);
    seen.value = window.innerHeight;
  }

  function moved(): void {
    frame ||= requestAnimationFrame(measure);
  }

  onMounted(() => {
    measure();
    window.addEventListener("scroll", moved, { passive: true });
    window.addEventListener("resize", moved, { passive: true });
  });
  onScopeDispose(() => {
    cancelAnimationFrame(frame);
    window.removeEventListener("scroll", moved);
    window.removeEventListener("resize", moved);
  });

  return { first, last, before, after };
}
