/*
 * Why an application needs a person, in sentences: what keeps it from being read, from being synced, from being
 * healthy. Each is one problem, shown once, of the deepest object that is known.
 */
import { inWords } from "./conditions";
import type {
  ApplicationSummary,
  ApplicationDetail,
  ApplicationCondition,
  Json,
  JsonObject,
} from "@/api/schema";
import { keyText } from "./keys";
import { HEALTH } from "./status";

export interface Reason {
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

type ReasonInput = Pick<
  ApplicationSummary,
  "conditions" | "syncFailure" | "cause" | "health" | "healthMessage" | "healthSince"
>;

const UNREADABLE = new Set(["InvalidSpecError", "ComparisonError", "UnknownError", "DeletionError"]);

/** The worst first; none where all is well. */
export function reasons(app: ReasonInput): Reason[] {
  return [...unreadable(app), ...failingSync(app), ...illHealth(app)];
}

/** The conditions that no reason says already. */
export function otherConditions(app: ReasonInput): ApplicationCondition[] {
  const shown = new Set(reasons(app).map((one) => one.text));
  return app.conditions.filter(
    ({ type, message }) => !shown.has(message) && !(type === "SyncError" && app.syncFailure),
  );
}

/** For a row of a list: the first reason, or nothing. */
export function firstReason(app: ReasonInput): string {
  return reasons(app)[0]?.text ?? "";
}

function unreadable(app: ReasonInput): Reason[] {
  return app.conditions
    .filter(({ type }) => UNREADABLE.has(type))
    .map((one) => ({
      label: inWords(one.type).title,
      text: one.message,
      since: one.since || null,
      object: "",
    }));
}

function failingSync({ syncFailure: failure }: ReasonInput): Reason[] {
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

function illHealth(app: ReasonInput): Reason[] {
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
  return [object && keyText(object), ...parts].filter(Boolean).join(": ");
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
