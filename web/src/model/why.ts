/* One sentence on why an application is not well: from its operation, its objects and its conditions. */
import { inWords } from "./conditions";
import type { ApplicationDetail, Json, JsonObject } from "@/api/types";
import { keyOf } from "./keys";

export interface Why {
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
  health: string;
  message: string;
}

const ILL = ["Degraded", "Missing", "Progressing"];

export function why(app: ApplicationDetail): Why | null {
  const failed = failedOperation(app);
  if (app.health !== "Degraded" && failed) return failed;
  const ill = ILL.map((health) => resources(app).find((one) => one.health === health)).find(Boolean);
  if (app.health !== "Healthy" && (ill || app.healthMessage)) {
    const told = ill?.message || app.healthMessage;
    return {
      text: ill ? about(ill, told) : told,
      since: app.healthSince,
      object: ill ? keyOf(ill) : "",
    };
  }
  const bad = app.conditions.find((condition) => inWords(condition.type).bad);
  return bad
    ? {
        text: `${inWords(bad.type).says} ${bad.message}`,
        since: bad.since ?? bad.lastTransitionTime ?? null,
        object: "",
      }
    : failed;
}

/** Messages of an agent may or may not begin with the object: it is said once. */
function about(object: ResourceStatus, told: string): string {
  const name = `${object.kind} ${object.name}`;
  return told.startsWith(name) ? told : `${name}: ${told}`;
}

function failedOperation(app: ApplicationDetail): Why | null {
  if (app.phase !== "Failed" && app.phase !== "Error") return null;
  const operation = app.status["operationState"] as JsonObject | undefined;
  const message = text(operation?.["message"]) || "The last sync failed.";
  return { text: message, since: text(operation?.["finishedAt"]) || null, object: "" };
}

export function resources(app: ApplicationDetail): ResourceStatus[] {
  const list = app.status["resources"];
  return Array.isArray(list) ? list.map((item) => resource(item as JsonObject)) : [];
}

function resource(item: JsonObject): ResourceStatus {
  const health = (item["health"] ?? {}) as JsonObject;
  return {
    group: text(item["group"]),
    kind: text(item["kind"]),
    namespace: text(item["namespace"]),
    name: text(item["name"]),
    status: text(item["status"]),
    health: text(health["status"]),
    message: text(health["message"]),
  };
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
