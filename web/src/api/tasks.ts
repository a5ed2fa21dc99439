/*
 * Reads that only the agent can answer are tasks. The service waits a little and gives the body; where the
 * agent takes longer it answers 202 with the task, and the live stream tells when that has ended.
 */
import { ProblemError, request, send, type Query } from "./client";
import type { Task } from "./types";

const PATIENCE_MS = 20_000;
const OPEN = new Set<Task["phase"]>(["queued", "offered", "running"]);

type Listener = () => void;
/** Hears of each state of a task on its way. */
export type Tell = (task: Task) => void;
const waiting = new Map<string, Set<Listener>>();

/** Called by the live store for every `task.changed`. */
export function taskChanged(id: string): void {
  waiting.get(id)?.forEach((tell) => tell());
}

export async function answer<T>(path: string, query: Query = {}): Promise<T> {
  const response = await send(path, { query });
  const body = (await response.json()) as T | { task: Task };
  if (response.status !== 202) return body as T;
  return (await succeeded((body as { task: Task }).task.id)).result as T;
}

/** The task once it has ended; an error that says so when it takes too long. */
export async function ended(id: string, patience = PATIENCE_MS, tell: Tell = () => undefined): Promise<Task> {
  const deadline = Date.now() + patience;
  for (;;) {
    const news = nextNews(id, deadline - Date.now());
    const task = await request<Task>(`/tasks/${encodeURIComponent(id)}`);
    tell(task);
    if (!OPEN.has(task.phase)) return task;
    if (!(await news)) throw tooLate(task);
  }
}

/** The task once it has succeeded; its own words as an error where it has not. */
export async function succeeded(id: string, patience = PATIENCE_MS, tell?: Tell): Promise<Task> {
  const task = await ended(id, patience, tell);
  if (task.phase === "succeeded") return task;
  throw new ProblemError({
    type: "about:blank",
    title: `The ${task.kind} ${task.phase}`,
    status: 502,
    detail: task.message || "The agent gave no reason.",
  });
}

function nextNews(id: string, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listeners = waiting.get(id) ?? new Set<Listener>();
    waiting.set(id, listeners);
    const done = (told: boolean) => {
      clearTimeout(timer);
      listeners.delete(tell);
      if (!listeners.size) waiting.delete(id);
      resolve(told);
    };
    const tell = () => done(true);
    const timer = setTimeout(() => done(false), Math.max(0, ms));
    listeners.add(tell);
  });
}

function tooLate(task: Task): ProblemError {
  return new ProblemError({
    type: "about:blank",
    title: "The agent has not answered yet",
    status: 504,
    detail: `Task ${task.id} is still ${task.phase}. Its result will be in the audit log.`,
    remedy: "Try again when the agent is connected.",
  });
}
