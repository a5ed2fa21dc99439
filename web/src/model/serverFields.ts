/* What the API server writes into every object by itself, and what nobody compares with Git. */
import type { Json, JsonObject } from "@/api/schema";

const OF_SERVER = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "generation",
  "managedFields",
  "selfLink",
]);

export function withoutServerFields(object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(([name]) => name !== "status");
  return inOrder(without(Object.fromEntries(entries), OF_SERVER));
}

/** With the keys of every map in one order, so that only values differ. */
export function comparable(object: JsonObject, whole: boolean): JsonObject {
  return inOrder(sorted(whole ? object : withoutServerFields(object)) as JsonObject);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a.localeCompare(b));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

/** The longest part of a live object, of use to few. */
export function withoutManaged(object: JsonObject): JsonObject {
  return inOrder(without(object, new Set(["managedFields"])));
}

function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  const { metadata } = object;
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return object;
  const kept = Object.entries(metadata).filter(([name]) => !names.has(name));
  return { ...object, metadata: Object.fromEntries(kept) };
}

/** As manifests are written: what it is and whose, then the rest by name. Both sides of a diff stand so. */
const FIRST = ["apiVersion", "kind", "metadata", "spec", "data"];

function inOrder(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b)),
  );
}

const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
