/* Values that tests start from. */
import type { ApplicationSummary, ChangePayload, TimelineFact, JsonObject, TreeNode } from "@/api/schema";

export function application(part: Partial<ApplicationSummary> = {}): ApplicationSummary {
  return {
    id: "1",
    agent: { id: "agent-1", name: "prod-eu", status: "connected" },
    namespace: "argocd",
    name: "payments",
    project: "shop",
    environment: "prod",
    region: "eu",
    service: "payments",
    labels: { team: "core" },
    repository: "https://git.example/shop/deploy.git",
    path: "apps/payments",
    targetRevision: "main",
    revision: "a".repeat(40),
    running: {
      revision: "a".repeat(40),
      commit: { id: "a".repeat(40), author: "mira", message: "1.4.2", time: "2026-01-01T09:59:00Z" },
      since: "2026-01-01T10:00:00Z",
      by: "automated",
      rolledBack: false,
    },
    wanted: {
      revision: "a".repeat(40),
      commit: { id: "a".repeat(40), author: "mira", message: "1.4.2", time: "2026-01-01T09:59:00Z" },
    },
    syncFailure: null,
    attention: "",
    cause: null,
    sync: "Synced",
    health: "Healthy",
    healthMessage: "",
    phase: "Succeeded",
    automated: true,
    images: ["registry.example/shop/payments:1.4.2"],
    conditions: [],
    syncSince: "2026-01-01T10:00:00Z",
    healthSince: "2026-01-01T10:00:00Z",
    asOf: "2026-01-01T12:00:00Z",
    suspect: false,
    ...part,
  };
}

export function change(
  type: string,
  body: JsonObject = {},
  part: Partial<ChangePayload> = {},
): ChangePayload {
  return {
    type,
    subject: "argocd/payments",
    agent: "agent-1",
    project: "shop",
    time: "2026-01-01T12:00:05Z",
    body,
    ...part,
  };
}

export function node(kind: string, name: string, part: Partial<TreeNode> = {}): TreeNode {
  return {
    group: "",
    version: "v1",
    kind,
    namespace: "shop",
    name,
    health: "Healthy",
    healthMessage: "",
    sync: "",
    parents: [],
    images: [],
    createdAt: null,
    info: [],
    ...part,
  };
}

export function fact(type: string, body: JsonObject = {}, part: Partial<TimelineFact> = {}): TimelineFact {
  return {
    id: "1",
    eventId: "1",
    agent: "agent-1",
    agentName: "prod-eu",
    type,
    subject: "argocd/payments",
    project: "shop",
    environment: "prod",
    region: "eu",
    correlation: "c",
    time: "2026-01-01T12:00:00Z",
    agentTime: null,
    sentence: "sync succeeded",
    body,
    ...part,
  };
}
