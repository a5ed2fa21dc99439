/*
 * Why an application needs a person, in sentences: what keeps it from being read, from being synced, from being
 * healthy. Each is one problem, said once, of the deepest object that is known.
 */
import { inWords } from "./conditions";
import type { Application, ApplicationDetail, Condition, Json, JsonObject } from "@/api/types";
import { sayKey } from "./keys";
import { HEALTH } from "./status";

export interface Why {
  /** What kind of trouble it is: the word before the sentence. */
  label: string;
  text: string;
  since: string | null;
  /** Key of the object to look at, where there is one. */
  object: string;
}

export interface ResourceStatus {
  group: string;
  kind: string;
  namespace: string;
  name: string;
  status: string;
}

type Told = Pick<
  Application,
  "conditions" | "syncFailure" | "cause" | "health" | "healthMessage" | "healthSince"
>;

const UNREADABLE = new Set(["InvalidSpecError", "ComparisonError", "UnknownError", "DeletionError"]);

/** The worst first; none where all is well. */
export function reasons(app: Told): Why[] {
  return [...unreadable(app), ...failingSync(app), ...illHealth(app)];
}

/** The conditions that no reason says already. */
export function otherConditions(app: Told): Condition[] {
  const said = new Set(reasons(app).map((one) => one.text));
  return app.conditions.filter(
    ({ type, message }) => !said.has(message) && !(type === "SyncError" && app.syncFailure),
  );
}

/** For a row of a list: the first reason, or nothing. */
export function inShort(app: Told): string {
  return reasons(app)[0]?.text ?? "";
}

function unreadable(app: Told): Why[] {
  return app.conditions
    .filter(({ type }) => UNREADABLE.has(type))
    .map((one) => ({
      label: inWords(one.type).says,
      text: one.message,
      since: one.since ?? one.lastTransitionTime ?? null,
      object: "",
    }));
}

function failingSync({ syncFailure: failure }: Told): Why[] {
  if (!failure) return [];
  const tries = failure.retrying ? `Sync fails, retry ${failure.retries || 1}` : "Sync failed";
  return [
    {
      label: tries,
      text: sentence(failure.object, failure.message),
      since: failure.since || null,
      object: failure.object,
    },
  ];
}

function illHealth(app: Told): Why[] {
  if (app.health === "Healthy") return [];
  const label = HEALTH[app.health].word;
  const { cause } = app;
  if (cause) {
    const text = sentence(cause.object, cause.reason, cause.message);
    return [{ label, text, since: cause.since || app.healthSince, object: cause.object }];
  }
  return app.healthMessage ? [{ label, text: app.healthMessage, since: app.healthSince, object: "" }] : [];
}

/** `Pod web-x: ImagePullBackOff: not found`; what is not known is left out. */
function sentence(object: string, ...parts: string[]): string {
  return [object && sayKey(object), ...parts].filter(Boolean).join(": ");
}

export function resources(app: ApplicationDetail): ResourceStatus[] {
  const list = app.status["resources"];
  return Array.isArray(list) ? list.map((item) => resource(item as JsonObject)) : [];
}

function resource(item: JsonObject): ResourceStatus {
  return {
    group: text(item["group"]),
    kind: text(item["kind"]),
    namespace: text(item["namespace"]),
    name: text(item["name"]),
    status: text(item["status"]),
  };
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
