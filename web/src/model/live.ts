/*
 * What a batch of changes does to the applications a page knows. A change that carries the application is
 * applied; one that only names it says what to ask for again; the newest of several wins, an old one is ignored.
 */
import type { ApplicationSummary, ChangePayload } from "@/api/schema";

export interface Effect {
  apps: Map<string, ApplicationSummary>;
  /** Ids whose row is different now: these glow. */
  touched: Set<string>;
  /** Ids to be read again; `all` when something changed that is not known here. */
  stale: Set<string>;
  all: boolean;
}

export function apply(
  known: ReadonlyMap<string, ApplicationSummary>,
  changes: readonly ChangePayload[],
): Effect {
  const effect: Effect = { apps: new Map(known), touched: new Set(), stale: new Set(), all: false };
  const ids = bySubject(known);
  for (const change of changes) {
    if (change.type === "application.changed") changed(effect, ids, change);
    else if (change.type === "application.removed") removed(effect, ids, change);
    else if (change.type === "agent.changed") agentChanged(effect, change);
  }
  return effect;
}

export function subjectOf(app: ApplicationSummary): string {
  return `${app.agent.id} ${app.namespace}/${app.name}`;
}

function bySubject(known: ReadonlyMap<string, ApplicationSummary>): Map<string, string> {
  return new Map([...known.values()].map((app) => [subjectOf(app), app.id]));
}

function changed(effect: Effect, ids: Map<string, string>, change: ChangePayload): void {
  const id = ids.get(`${change.agent} ${change.subject}`);
  const before = id === undefined ? undefined : effect.apps.get(id);
  if (!before) {
    const whole = asApplication(change);
    if (whole) put(effect, whole);
    else effect.all = true;
    return;
  }
  if (change.time < before.asOf) return;
  const now = merged(before, change);
  if (isEmpty(change) || needsReread(before, now)) effect.stale.add(before.id);
  if (!isEmpty(change)) put(effect, now);
}

function removed(effect: Effect, ids: Map<string, string>, change: ChangePayload): void {
  const id = ids.get(`${change.agent} ${change.subject}`);
  if (id !== undefined) effect.apps.delete(id);
}

/** The age of everything an agent said depends on whether it is still there. */
function agentChanged(effect: Effect, change: ChangePayload): void {
  const status = change.body["status"] as ApplicationSummary["agent"]["status"] | undefined;
  if (typeof status !== "string") return;
  for (const app of effect.apps.values()) {
    if (app.agent.id === change.agent && app.agent.status !== status) {
      effect.apps.set(app.id, { ...app, agent: { ...app.agent, status } });
    }
  }
}

function put(effect: Effect, app: ApplicationSummary): void {
  effect.apps.set(app.id, app);
  effect.touched.add(app.id);
}

/** A short change says what it is now; since when, follows from when it was said. */
function merged(before: ApplicationSummary, change: ChangePayload): ApplicationSummary {
  const now = { ...before, ...partOf(change), id: before.id, agent: before.agent, asOf: change.time };
  return {
    ...now,
    healthSince: now.health === before.health ? now.healthSince : change.time,
    syncSince: now.sync === before.sync ? now.syncSince : change.time,
  };
}

/** What a short change leaves out (cause, failed sync, what runs) is another one now, or may be. */
function needsReread(before: ApplicationSummary, now: ApplicationSummary): boolean {
  const well = now.attention === "" && now.health === "Healthy";
  return (
    !well || (["health", "attention", "phase", "revision"] as const).some((it) => now[it] !== before[it])
  );
}

const isEmpty = (change: ChangePayload) => typeof change.body["health"] !== "string";
const partOf = (change: ChangePayload) => change.body as Partial<ApplicationSummary>;

function asApplication(change: ChangePayload): ApplicationSummary | null {
  const body = change.body;
  const whole =
    typeof body["id"] === "string" && typeof body["health"] === "string" && typeof body["agent"] === "object";
  return whole ? (body as unknown as ApplicationSummary) : null;
}
