/* Deletions that wait for a person: of a prune, or of the Application itself. */
import type { ApplicationDetail, JsonObject } from "@/api/schema";

const PRUNE = "waiting for pruning confirmation of";

/** What waits for an approval, in the agent's words; empty where nothing does. */
export function approvalAwaited(app: ApplicationDetail): string {
  const deletion = app.conditions.find((one) => one.type === "DeletionConfirmationWarning");
  if (deletion) return deletion.message;
  const state = app.status["operationState"] as JsonObject | undefined;
  const message = state?.["message"];
  const waits = app.phase === "Running" && typeof message === "string" && message.startsWith(PRUNE);
  return waits ? message : "";
}
