/* What kind of dot each fact makes on the timeline, and in which tone; its sentence comes from the service. */
import type { Tone } from "./status";
import type { TimelineFact } from "@/api/schema";

export type FactKind = "push" | "render" | "drift" | "sync" | "health" | "person";

/** From the push to its effect, as the eye goes down a lane; what people did stands first. */
export const ORDER: readonly FactKind[] = ["person", "push", "render", "drift", "sync", "health"];

export interface FactMark {
  kind: FactKind;
  tone: Tone;
}

const mark = (kind: FactKind, tone: Tone): FactMark => ({ kind, tone });

const MARKS: Record<string, (body: TimelineFact["body"]) => FactMark> = {
  "revision.resolved": () => mark("push", "calm"),
  "refresh.failed": () => mark("push", "bad"),
  "manifests.rendered": () => mark("render", "calm"),
  "manifests.failed": () => mark("render", "bad"),
  "app.compared": ({ status }) => mark("drift", status === "OutOfSync" ? "warn" : "good"),
  "sync.skipped": () => mark("sync", "off"),
  "operation.started": ({ initiated_by: who }) => mark(who ? "person" : "sync", "busy"),
  "resources.applied": ({ failed }) => mark("sync", Array.isArray(failed) && failed.length ? "bad" : "busy"),
  "operation.finished": ({ phase }) => mark("sync", phase === "Succeeded" ? "good" : "bad"),
  "health.assessed": ({ status }) => mark("health", healthTone(status)),
  "command.refused": () => mark("person", "bad"),
  "app.deleted": () => mark("person", "off"),
};

/** Of a type that is new to this page: what a person did, in no hurry. */
export function markOf(fact: TimelineFact): FactMark {
  const known = MARKS[fact.type.replace(/\.v\d+$/, "")];
  return known ? known(fact.body) : mark("person", "calm");
}

/** As a sentence of its own on a page; in a line of the terminal it stands after a name. */
export const sentenceOf = ({ sentence }: TimelineFact) =>
  sentence.charAt(0).toUpperCase() + sentence.slice(1);

function healthTone(health: unknown): Tone {
  if (health === "Healthy") return "good";
  return health === "Degraded" || health === "Missing" ? "bad" : "busy";
}
