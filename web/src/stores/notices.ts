/* Short sentences about what the reader did: announced to screen readers, gone by themselves. */
import { defineStore } from "pinia";
import { ref } from "vue";
import { asProblem } from "@/api/client";
import { succeeded } from "@/api/tasks";
import type { TaskSummary } from "@/api/schema";

export interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const LASTS_MS = 8000;
const LONGEST_MS = 5 * 60_000;

export const useNotices = defineStore("notices", () => {
  const shown = ref<Notice[]>([]);
  let next = 1;

  function show(text: string, bad = false): void {
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
      show(done);
      return true;
    } catch (error) {
      const { title, detail, remedy } = asProblem(error);
      show([title, detail, remedy].filter(Boolean).join(". "), true);
      return false;
    }
  }

  /** Request a command; say that it was requested, and later how it ended. */
  async function command(what: string, ask: () => Promise<{ task: TaskSummary }>): Promise<boolean> {
    let id = "";
    const asked = await attempt(`${what} requested`, async () => (id = (await ask()).task.id));
    if (asked) void reportEnd(what, id);
    return asked;
  }

  async function reportEnd(what: string, id: string): Promise<void> {
    try {
      await succeeded(id, LONGEST_MS);
      show(`${what} done`);
    } catch (error) {
      const { title, detail } = asProblem(error);
      show(`${what}: ${title}. ${detail}`, true);
    }
  }

  return { shown, show, dismiss, attempt, command };
});
