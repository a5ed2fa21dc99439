/* Changes of an Application's spec that the dashboard makes. */
import type { JsonObject } from "@/api/types";

/** The same spec, synced by a person only; everything else of its policy stays. */
export function withoutAutoSync(spec: JsonObject): JsonObject {
  const policy = Object.entries((spec["syncPolicy"] ?? {}) as JsonObject).filter(
    ([name]) => name !== "automated",
  );
  return { ...spec, syncPolicy: Object.fromEntries(policy) };
}
