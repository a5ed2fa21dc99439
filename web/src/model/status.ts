/*
 * A status is always three things at once: a colour (`tone`), a shape and a word. Order is worst first.
 */
import type { AgentStatus, ApplicationSummary, Attention, HealthStatus, SyncStatus } from "@/api/schema";

export type Tone = "good" | "busy" | "bad" | "warn" | "calm" | "off";
export type Shape =
  | "circle"
  | "arc"
  | "diamond"
  | "bars"
  | "ring"
  | "question"
  | "check"
  | "squares"
  | "triangle"
  | "cross"
  | "clock";

export interface Mark {
  word: string;
  tone: Tone;
  shape: Shape;
  means: string;
}

const mark = (word: string, tone: Tone, shape: Shape, means: string): Mark => ({ word, tone, shape, means });

export const HEALTH: Record<HealthStatus, Mark> = {
  Degraded: mark("Degraded", "bad", "diamond", "an object failed or cannot become ready"),
  Missing: mark("Missing", "warn", "ring", "an object that Git asks for is not in the cluster"),
  Unknown: mark("Unknown", "off", "question", "the agent could not assess it"),
  Progressing: mark("Progressing", "busy", "arc", "a rollout is in progress"),
  Suspended: mark("Suspended", "calm", "bars", "an object is paused"),
  Healthy: mark("Healthy", "good", "circle", "all objects are healthy"),
};

export const SYNC: Record<SyncStatus, Mark> = {
  OutOfSync: mark("OutOfSync", "warn", "squares", "the cluster differs from Git"),
  Unknown: mark("Unknown", "off", "question", "the comparison did not succeed"),
  Synced: mark("Synced", "good", "check", "the cluster matches Git"),
};

export const AGENT: Record<AgentStatus, Mark> = {
  lost: mark("Lost", "bad", "cross", "not seen for 15 minutes or more"),
  disconnected: mark("Disconnected", "bad", "diamond", "not seen for 2 minutes or more"),
  revoked: mark("Revoked", "calm", "cross", "its key is no longer accepted"),
  stale: mark("Stale", "warn", "clock", "not seen for 45 seconds or more"),
  waiting: mark("Waiting", "busy", "arc", "created, but never enrolled"),
  connected: mark("Connected", "good", "circle", "seen within the last 45 seconds"),
};

export const PHASE: Record<Exclude<ApplicationSummary["phase"], "">, Mark> = {
  Running: mark("Syncing", "busy", "arc", "an operation is running"),
  Terminating: mark("Terminating", "busy", "arc", "an operation is being ended"),
  Failed: mark("Sync failed", "bad", "diamond", "the last operation failed"),
  Error: mark("Sync error", "bad", "triangle", "the last operation could not be carried out"),
  Succeeded: mark("Sync succeeded", "good", "check", "the last operation succeeded"),
};

/** States beside health and sync: a list shows them under the sync. */
const SYNC_FAILED = mark("Sync failed", "bad", "triangle", "the last sync failed and is not retried");
const SYNC_FAILING = mark("Sync failing", "bad", "triangle", "the sync failed and is being retried");
const UNREADABLE = mark(
  "Not readable",
  "bad",
  "cross",
  "its spec is invalid, or its source cannot be rendered",
);
const ROLLED_BACK = mark(
  "Rolled back",
  "warn",
  "clock",
  "an earlier revision than the desired one is running",
);

/** The state beside health and sync, where there is one. */
export function besides(
  app: Pick<ApplicationSummary, "attention" | "syncFailure" | "conditions" | "running">,
): Mark | null {
  if (app.attention === "Unreadable") return UNREADABLE;
  if (app.syncFailure) return app.syncFailure.retrying ? SYNC_FAILING : SYNC_FAILED;
  return app.running.rolledBack ? ROLLED_BACK : null;
}

export const HEALTH_ORDER = Object.keys(HEALTH) as HealthStatus[];
export const SYNC_ORDER = Object.keys(SYNC) as SyncStatus[];

const AWAY = new Set<AgentStatus>(["disconnected", "lost", "revoked"]);

/** Nothing that such an agent said is current: it is shown dimmed, with its age. */
export function isAway(status: AgentStatus): boolean {
  return AWAY.has(status);
}

const ATTENTION: Attention[] = ["Degraded", "Unreadable", "SyncFailed", "Missing", "Stuck", "OutOfSync", ""];

/** 0 is the worst; equal for applications that need a person equally. */
export function severity(app: Pick<ApplicationSummary, "attention" | "health" | "sync">): number {
  const [health, sync] = [HEALTH_ORDER.indexOf(app.health), SYNC_ORDER.indexOf(app.sync)];
  return ATTENTION.indexOf(app.attention) * 100 + health * 10 + sync;
}

export function isCalm(app: Pick<ApplicationSummary, "health" | "sync">): boolean {
  return app.health === "Healthy" && app.sync === "Synced";
}
