/* Facts in a person's words, and the kind of dot each makes on the timeline. */
import type { Tone } from "./status";
import { shortRevision } from "./text";
import type { Fact, Json } from "@/api/types";

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
    words("render", "calm", `Rendered ${read("objects") || "its"} objects at ${commit(read)}`),
  "manifests.failed": (read) => words("render", "bad", `Render failed: ${read("message")}`),
  "app.compared": (read) =>
    read("status") === "OutOfSync"
      ? words(
          "drift",
          "warn",
          `OutOfSync: ${read("changed") || "some"} changed, ${read("missing") || "0"} missing`,
        )
      : words("drift", "good", `Compared: ${read("status")}`),
  "sync.skipped": (read) => words("sync", "off", `Sync not started: ${read("message") || read("reason")}`),
  "operation.started": (read) =>
    words(
      read("initiatedBy") ? "person" : "sync",
      "busy",
      `Sync to ${commit(read)} started${by(read("initiatedBy"))}`,
    ),
  "resources.applied": (read) =>
    words("sync", "busy", `Applied ${read("applied") || "0"} objects, pruned ${read("pruned") || "0"}`),
  "operation.finished": (read) =>
    words(
      "sync",
      read("phase") === "Succeeded" ? "good" : "bad",
      `Sync ${read("phase").toLowerCase()}${tail(read("message"))}`,
    ),
  "health.assessed": (read) =>
    words(
      "health",
      healthTone(read("status")),
      `${read("status")}, before ${read("before") || "Unknown"}${tail(read("message"))}`,
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

const by = (who: string) => (who ? ` by ${who}` : "");
const tail = (message: string) => (message ? `: ${message}` : "");
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const text = (value: Json | undefined) => (value === undefined || value === null ? "" : String(value));

function healthTone(health: string): Tone {
  if (health === "Healthy") return "good";
  return health === "Degraded" || health === "Missing" ? "bad" : "busy";
}
