/* An order to an agent from beginning to end: sent, on its way, done, or refused in whose words. */
import { ref } from "vue";
import { asProblem } from "@/api/client";
import { succeeded } from "@/api/tasks";
import type { Problem, Task } from "@/api/types";

const PATIENCE_MS = 60_000;
const WORDS: Partial<Record<Task["phase"], string>> = {
  queued: "Waiting for the agent.",
  offered: "Sent to the agent.",
  running: "The agent is working on it.",
  succeeded: "Done.",
};

export function useOrder() {
  const state = ref("");
  const problem = ref<Problem | null>(null);
  const busy = ref(false);

  /** True when the agent has done it. */
  async function give(send: () => Promise<{ task: Task }>): Promise<boolean> {
    [busy.value, problem.value, state.value] = [true, null, "Sending."];
    try {
      const { task } = await send();
      await succeeded(task.id, PATIENCE_MS, ({ phase }) => (state.value = WORDS[phase] ?? ""));
      return true;
    } catch (error) {
      [problem.value, state.value] = [asProblem(error), ""];
      return false;
    } finally {
      busy.value = false;
    }
  }

  return { state, problem, busy, give };
}
