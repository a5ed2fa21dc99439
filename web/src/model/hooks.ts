/*
 * The hooks of the last sync, as the operation's results have them: in which phase each ran, and how it went.
 */
import type { ApplicationDetail, Json, JsonObject } from "@/api/schema";
import { PHASE, type Mark } from "./status";

export interface SyncHook {
  phase: string;
  kind: string;
  /** `namespace/name`, or the name alone. */
  name: string;
  mark: Mark;
  message: string;
}

const RUNS: Record<string, Mark> = {
  Running: { word: "Running", tone: "busy", shape: "arc", means: "the hook has not ended yet" },
  Succeeded: { word: "Succeeded", tone: "good", shape: "check", means: "the hook has ended well" },
  Failed: { word: "Failed", tone: "bad", shape: "diamond", means: "the hook has failed" },
  Error: { word: "Error", tone: "bad", shape: "triangle", means: "the hook was deleted before it ended" },
};

export function hooksOf(app: Pick<ApplicationDetail, "status">): SyncHook[] {
  const state = app.status["operationState"];
  const result = isObject(state) ? state["syncResult"] : null;
  const list = isObject(result) ? result["resources"] : null;
  return Array.isArray(list) ? list.flatMap(hook) : [];
}

/** Whether the list needs to be seen: a hook runs or has failed. */
export const isOpen = (hooks: SyncHook[]): boolean => hooks.some(({ mark }) => mark.tone !== "good");

function hook(item: Json): SyncHook[] {
  if (!isObject(item) || !text(item["hookType"])) return [];
  const name = [text(item["namespace"]), text(item["name"])].filter(Boolean).join("/");
  const mark = RUNS[text(item["hookPhase"])] ?? PHASE.Running;
  return [
    { phase: text(item["hookType"]), kind: text(item["kind"]), name, mark, message: text(item["message"]) },
  ];
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
