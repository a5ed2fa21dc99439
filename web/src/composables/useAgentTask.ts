/* A task of an agent: submitted, followed to its end, or refused with the reason. */
import { ref } from "vue";
import { asProblem } from "@/api/client";
import { succeeded } from "@/api/tasks";
import type { ProblemDetails, TaskSummary } from "@/api/schema";

const TIMEOUT_MS = 60_000;
const WORDS: Partial<Record<TaskSummary["phase"], string>> = {
  queued: "Waiting for the agent.",
  offered: "Sent to the agent.",
  running: "The agent is working on it.",
  succeeded: "Done.",
};

export function useAgentTask() {
  const state = ref("");
  const problem = ref<ProblemDetails | null>(null);
  const busy = ref(false);

  /** Resolves to true when the agent has carried out the task. */
  async function submit(send: () => Promise<{ task: TaskSummary }>): Promise<boolean> {
    [busy.value, problem.value, state.value] = [true, null, "Sending."];
    try {
      const { task } = await send();
      await succeeded(task.id, TIMEOUT_MS, ({ phase }) => (state.value = WORDS[phase] ?? ""));
      return true;
    } catch (error) {
      [problem.value, state.value] = [asProblem(error), ""];
      return false;
    } finally {
      busy.value = false;
    }
  }

  return { state, problem, busy, submit };
}
