/*
 * Reads that only the agent can answer are tasks. The service waits a little and gives the body; where the
 * agent takes longer it answers 202 with the task, and the live stream tells when that has ended.
 */
import { ProblemError, request, send, type Query } from "./client";
import type { TaskSummary } from "./schema";

const TIMEOUT_MS = 20_000;
const OPEN = new Set<TaskSummary["phase"]>(["queued", "offered", "running"]);

type Listener = () => void;
/** Called with each state of a task until its end. */
export type TaskListener = (task: TaskSummary) => void;
const waiting = new Map<string, Set<Listener>>();

/** Called by the live store for every `task.changed`. */
export function taskChanged(id: string): void {
  waiting.get(id)?.forEach((notify) => notify());
}

export async function answer<T>(path: string, query: Query = {}): Promise<T> {
  const response = await send(path, { query });
  const body = (await response.json()) as T | { task: TaskSummary };
  if (response.status !== 202) return body as T;
  return (await succeeded((body as { task: TaskSummary }).task.id)).result as T;
}

/** The task once it has ended; an error that says so when it takes too long. */
export async function ended(
  id: string,
  timeout = TIMEOUT_MS,
  notify: TaskListener = () => undefined,
): Promise<TaskSummary> {
  const deadline = Date.now() + timeout;
  for (;;) {
    const change = nextChange(id, deadline - Date.now());
    const task = await request<TaskSummary>(`/tasks/${encodeURIComponent(id)}`);
    notify(task);
    if (!OPEN.has(task.phase)) return task;
    if (!(await change)) throw timeoutError(task);
  }
}

/** The task once it has succeeded; its own words as an error where it has not. */
export async function succeeded(
  id: string,
  timeout = TIMEOUT_MS,
  notify?: TaskListener,
): Promise<TaskSummary> {
  const task = await ended(id, timeout, notify);
  if (task.phase === "succeeded") return task;
  throw new ProblemError({
    type: "about:blank",
    title: `The ${task.kind} ${task.phase}`,
    status: 502,
    detail: task.message || "The agent gave no reason.",
  });
}

function nextChange(id: string, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listeners = waiting.get(id) ?? new Set<Listener>();
    waiting.set(id, listeners);
    const done = (arrived: boolean) => {
      clearTimeout(timer);
      listeners.delete(notify);
      if (!listeners.size) waiting.delete(id);
      resolve(arrived);
    };
    const notify = () => done(true);
    const timer = setTimeout(() => done(false), Math.max(0, ms));
    listeners.add(notify);
  });
}

function timeoutError(task: TaskSummary): ProblemError {
  return new ProblemError({
    type: "about:blank",
    title: "The agent has not answered yet",
    status: 504,
    detail: `Task ${task.id} is still ${task.phase}. Its result will be in the audit log.`,
    remedy: "Try again when the agent is connected.",
  });
}
