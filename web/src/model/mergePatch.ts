/*
 * JSON merge patch (RFC 7386) between two manifests: what a person changed in the text, and nothing else. A list
 * that changed stands in it whole; a field that is gone is null.
 */
import type { Json, JsonObject } from "@/api/schema";

export function mergePatch(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (isObject(value) && isObject(old)) {
      const inner = mergePatch(old, value);
      if (Object.keys(inner).length) patch[name] = inner;
    } else if (JSON.stringify(value) !== JSON.stringify(old)) {
      patch[name] = value;
    }
  }
  return patch;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
