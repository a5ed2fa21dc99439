/* How a connection stands, from the agent's word for it. */
import type { ConnectionSummary } from "@/api/schema";
import type { Mark } from "./status";

export function connectionMark(row: Pick<ConnectionSummary, "status" | "message">): Mark {
  const word = row.status.toLowerCase();
  if (["ok", "successful", "healthy", "connected"].includes(word)) {
    return { word: "Works", tone: "good", shape: "check", means: "the agent used it successfully" };
  }
  if (["failed", "error", "unhealthy"].includes(word)) {
    return {
      word: "Fails",
      tone: "bad",
      shape: "diamond",
      means: row.message || "the agent could not use it",
    };
  }
  return {
    word: row.status || "Not used yet",
    tone: "off",
    shape: "question",
    means: "the agent has not used it since it was started",
  };
}
