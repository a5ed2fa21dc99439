/* Whether an object would be touched by a sync: changed, created or pruned. */
import type { ObjectDiff } from "@/api/schema";

export function differs(object: ObjectDiff): boolean {
  return object.modified || object.live === null || object.desired === null;
}
