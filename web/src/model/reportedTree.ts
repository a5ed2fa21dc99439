/*
 * The tree as far as it was reported: the objects that Git describes, and whether they are in sync (an agent
 * reports no health of single objects). It stands while the agent is asked for the rest, and where the agent is away.
 */
import { resources } from "./reasons";
import { SYNC } from "./status";
import type { ApplicationDetail, SyncStatus, TreeNode } from "@/api/schema";

export function reported(app: ApplicationDetail): TreeNode[] {
  return resources(app).map((one) => ({
    group: one.group,
    version: "",
    kind: one.kind,
    namespace: one.namespace,
    name: one.name,
    health: "",
    healthMessage: "",
    sync: one.status in SYNC ? (one.status as SyncStatus) : "",
    parents: [],
    images: [],
    createdAt: null,
    info: [],
  }));
}
