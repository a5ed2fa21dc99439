/* Audit records in words: what was done, and with which outcome. A permitted action that failed is a failure. */
import type { Mark } from "./status";
import type { AuditRecord } from "@/api/schema";

const GOOD = new Set(["ok", "done", "succeeded", "synced", "healed", "accepted"]);
const LASTING = new Set(["queued", "offered", "running", "open"]);

export function outcomeOf({
  decision,
  outcome,
}: Pick<AuditRecord, "decision" | "outcome">): Omit<Mark, "means"> {
  if (decision === "denied") return { word: "denied", tone: "bad", shape: "cross" };
  const word = outcome === "ok" ? "succeeded" : (outcome || decision).replaceAll("_", " ");
  if (!outcome || GOOD.has(outcome)) return { word, tone: "good", shape: "check" };
  if (LASTING.has(outcome)) return { word, tone: "calm", shape: "ring" };
  return { word, tone: "bad", shape: "diamond" };
}

/** Actions are `noun.verb`; a verb in the present names a request to an agent. */
const VERBS: Record<string, string> = {
  accept: "accepted",
  bound: "vouched for",
  cancel: "cancelled",
  change: "change requested",
  "confirm-deletion": "deletion approval requested",
  create: "creation requested",
  delete: "deletion requested",
  "enrolment-token": "enrolment token issued",
  link: "connected",
  put: "write requested",
  rebuild: "rebuild requested",
  refresh: "refresh requested",
  reject: "rejected",
  rollback: "rollback requested",
  sync: "sync requested",
  terminate: "termination requested",
};

/** `application.sync` as "Application sync requested", `agent.revoked` as "Agent revoked". */
export function actionText(action: string): string {
  const at = action.lastIndexOf(".");
  const [noun, verb] = at < 0 ? ["", action] : [action.slice(0, at), action.slice(at + 1)];
  const text = `${noun} ${VERBS[verb] ?? verb}`.replaceAll(/[._-]/g, " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
