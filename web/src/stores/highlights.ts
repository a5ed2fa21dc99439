/* What changed just now glows once. Ids are kept only as long as the animation lasts. */
import { defineStore } from "pinia";
import { shallowRef } from "vue";

const LASTS_MS = 1600;

export const useHighlights = defineStore("glow", () => {
  const glowing = shallowRef<ReadonlySet<string>>(new Set());

  function mark(ids: Iterable<string>): void {
    const fresh = [...ids];
    if (!fresh.length) return;
    glowing.value = new Set([...glowing.value, ...fresh]);
    setTimeout(() => {
      const left = new Set(glowing.value);
      fresh.forEach((id) => left.delete(id));
      glowing.value = left;
    }, LASTS_MS);
  }

  return { glowing, mark };
});
