/* Moving and scaling a drawing: wheel, drag, pinch by Ctrl+wheel, and buttons that do the same for the keyboard. */
import { computed, ref, type Ref } from "vue";

const [LEAST, MOST] = [0.25, 2];

export function usePanZoom(view: Ref<HTMLElement | null>, size: () => { width: number; height: number }) {
  const x = ref(0);
  const y = ref(0);
  const scale = ref(1);
  const transform = computed(() => `translate(${x.value}px, ${y.value}px) scale(${scale.value})`);

  function zoom(factor: number, atX?: number, atY?: number): void {
    const rect = view.value?.getBoundingClientRect();
    const px = atX ?? (rect?.width ?? 0) / 2;
    const py = atY ?? (rect?.height ?? 0) / 2;
    const next = Math.min(MOST, Math.max(LEAST, scale.value * factor));
    x.value = px - ((px - x.value) * next) / scale.value;
    y.value = py - ((py - y.value) * next) / scale.value;
    scale.value = next;
  }

  /** The whole drawing where it stays readable; else its beginning. */
  function fit(): void {
    const rect = view.value?.getBoundingClientRect();
    const { width, height } = size();
    if (!rect || !width) return;
    scale.value = Math.min(1, Math.max(0.6, Math.min(rect.width / width, rect.height / height)));
    x.value = Math.max(0, Math.min(24, (rect.width - width * scale.value) / 2));
    y.value = Math.max(0, (rect.height - height * scale.value) / 2) || 0;
    if (height * scale.value > rect.height) y.value = rect.height / 2 - (height * scale.value) / 2;
  }

  /** Brings a box into sight, moving no more than needed. */
  function reveal(left: number, top: number, width: number, height: number): void {
    const rect = view.value?.getBoundingClientRect();
    if (!rect) return;
    x.value += needed(left * scale.value + x.value, width * scale.value, rect.width);
    y.value += needed(top * scale.value + y.value, height * scale.value, rect.height);
  }

  function wheel(event: WheelEvent): void {
    const rect = view.value?.getBoundingClientRect();
    if (!rect) return;
    if (event.ctrlKey || event.metaKey) {
      zoom(Math.exp(-event.deltaY / 300), event.clientX - rect.left, event.clientY - rect.top);
    } else {
      x.value -= event.deltaX;
      y.value -= event.deltaY;
    }
  }

  function drag(event: PointerEvent): void {
    if (event.button !== 0 || (event.target as Element).closest("button")) return;
    const [startX, startY] = [event.clientX - x.value, event.clientY - y.value];
    const target = event.currentTarget as HTMLElement;
    target.setPointerCapture(event.pointerId);
    const move = (next: PointerEvent) => {
      x.value = next.clientX - startX;
      y.value = next.clientY - startY;
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("lostpointercapture", () => target.removeEventListener("pointermove", move), {
      once: true,
    });
  }

  return { transform, scale, zoom, fit, reveal, wheel, drag };
}

function needed(start: number, length: number, available: number): number {
  const margin = 24;
  if (start < margin) return margin - start;
  return start + length > available - margin ? available - margin - start - length : 0;
}
