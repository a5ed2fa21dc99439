/* What a sync or a rollback would do, and whether it is worth pressing. */
import type { SyncPreview } from "@/api/schema";

/** Objects that are left as they are need nothing done; those that are refused do. */
export function changesNothing(plan: SyncPreview): boolean {
  return [plan.create, plan.change, plan.prune, plan.refuse].every((objects) => !objects.length);
}

/** A sync with a refused object fails before its first change. */
export const fails = (plan: SyncPreview): boolean => plan.refuse.length > 0;
