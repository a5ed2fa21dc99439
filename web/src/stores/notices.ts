/* Short sentences about what the reader did: announced to screen readers, gone by themselves. */
import { defineStore } from "pinia";
import { ref } from "vue";
import { asProblem } from "@/api/client";

export interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const LASTS_MS = 8000;

export const useNotices = defineStore("notices", () => {
  const shown = ref<Notice[]>([]);
  let next = 1;

  function say(text: string, bad = false): void {
    const id = next++;
    shown.value = [...shown.value.slice(-3), { id, text, bad }];
    setTimeout(() => dismiss(id), bad ? LASTS_MS * 2 : LASTS_MS);
  }

  function dismiss(id: number): void {
    shown.value = shown.value.filter((notice) => notice.id !== id);
  }

  /** Does it and says how it went; true when it went well. */
  async function attempt(done: string, act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      say(done);
      return true;
    } catch (error) {
      const { title, detail, remedy } = asProblem(error);
      say([title, detail, remedy].filter(Boolean).join(". "), true);
      return false;
    }
  }

  return { shown, say, dismiss, attempt };
});
