/* Facts in a person's words, and the kind of dot each makes on the timeline. */
import type { Tone } from "./status";
import { sayKey } from "./keys";
import { count, shortRevision } from "./text";
import type { Fact, Json, JsonObject } from "@/api/types";

export type FactKind = "push" | "render" | "drift" | "sync" | "health" | "person";

/** From the push to its effect, as the eye goes down a lane; what people did stands first. */
export const ORDER: readonly FactKind[] = ["person", "push", "render", "drift", "sync", "health"];

export interface FactWords {
  kind: FactKind;
  tone: Tone;
  text: string;
}

type Read = (name: string) => string;
type Say = (read: Read, fact: Fact) => FactWords;

const words = (kind: FactKind, tone: Tone, text: string): FactWords => ({ kind, tone, text });
const commit = (read: Read) => shortRevision(read("revision"));

const SAY: Record<string, Say> = {
  "revision.resolved": (read) =>
    words("push", "calm", `Push: ${read("targetRevision") || "the target revision"} is now ${commit(read)}`),
  "refresh.failed": (read) => words("push", "bad", `Refresh failed: ${read("message")}`),
  "manifests.rendered": (read) =>
    words(
      "render",
      "calm",
      `Rendered ${read("objects") ? count(Number(read("objects")), "object") : "manifests"} at ${commit(read)}`,
    ),
  "manifests.failed": (read) => words("render", "bad", `Render failed: ${read("message")}`),
  "app.compared": (read) =>
    read("status") === "OutOfSync"
      ? words("drift", "warn", `OutOfSync: ${differences(read) || "nothing to apply"}`)
      : words("drift", "good", `Compared: ${read("status")}`),
  "sync.skipped": (read) => words("sync", "off", `Sync not started: ${read("message") || read("reason")}`),
  "operation.started": (read) =>
    words(
      read("initiatedBy") ? "person" : "sync",
      "busy",
      `${operation(read)} to ${commit(read)} started${by(read("initiatedBy"))}`,
    ),
  "resources.applied": (read, fact) => {
    const refused = listOf(fact.body["failed"]);
    const done = [`Applied ${count(Number(read("applied")), "object")}`];
    if (Number(read("pruned"))) done.push(`pruned ${count(Number(read("pruned")), "object")}`);
    if (!refused.length) return words("sync", "busy", done.join(", "));
    const [first] = refused as JsonObject[];
    const why = `${sayKey(text(first?.["resource"]))}: ${text(first?.["message"])}`;
    return words("sync", "bad", `${count(refused.length, "object")} failed: ${why}`);
  },
  "operation.finished": (read) =>
    words(
      "sync",
      read("phase") === "Succeeded" ? "good" : "bad",
      read("phase") === "Succeeded"
        ? `${operation(read)} succeeded`
        : `${operation(read)} ${read("phase") === "Error" ? "could not start" : "failed"}${tail(read("message"))}`,
    ),
  "health.assessed": (read, fact) =>
    words(
      "health",
      healthTone(read("status")),
      `${read("before") || "Unknown"} → ${read("status")}${tail(causeIn(fact) || read("message"))}`,
    ),
  "app.deleted": () => words("person", "off", "Deleted"),
};

export function say(fact: Fact): FactWords {
  const read: Read = (name) => text(fact.body[name] ?? fact.body[snake(name)]);
  const known = SAY[fact.type.replace(/\.v\d+$/, "")];
  return known
    ? known(read, fact)
    : words("person", "calm", fact.type.replace(/\.v\d+$/, "").replaceAll(".", " "));
}

const OPERATIONS: Record<string, string> = {
  "auto-sync": "Auto-sync",
  "self-heal": "Self-heal",
  rollback: "Rollback",
};
const operation = (read: Read) => OPERATIONS[read("operationKind")] ?? "Sync";

/** Only what there is: `2 changed, 1 missing`. */
function differences(read: Read): string {
  return ["changed", "missing", "extra"]
    .filter((name) => Number(read(name)))
    .map((name) => `${read(name)} ${name}`)
    .join(", ");
}

function causeIn(fact: Fact): string {
  const cause = fact.body["cause"] as JsonObject | null | undefined;
  if (!cause) return "";
  return [sayKey(text(cause["object"])), text(cause["reason"]), text(cause["message"])]
    .filter(Boolean)
    .join(": ");
}

const listOf = (value: Json | undefined) => (Array.isArray(value) ? value : []);
const by = (who: string) => (who ? ` by ${who}` : "");
const tail = (message: string) => (message ? `: ${message}` : "");
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const text = (value: Json | undefined) => (value === undefined || value === null ? "" : String(value));

function healthTone(health: string): Tone {
  if (health === "Healthy") return "good";
  return health === "Degraded" || health === "Missing" ? "bad" : "busy";
}
