/*
 * The tree as far as it was reported: the objects that Git describes, with their last known states. It stands
 * while the agent is asked for the rest, and where the agent is away.
 */
import { resources } from "./why";
import { HEALTH, SYNC } from "./status";
import type { ApplicationDetail, Health, Sync, TreeNode } from "@/api/types";

export function reported(app: ApplicationDetail): TreeNode[] {
  return resources(app).map((one) => ({
    group: one.group,
    version: "",
    kind: one.kind,
    namespace: one.namespace,
    name: one.name,
    health: one.health in HEALTH ? (one.health as Health) : "",
    healthMessage: one.message,
    sync: one.status in SYNC ? (one.status as Sync) : "",
    parents: [],
    images: [],
    createdAt: null,
    info: [],
  }));
}
