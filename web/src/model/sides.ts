/*
 * The two sides of an object's difference. Without the server's defaults, the left is what Git describes as the
 * cluster has it: the desired object with each change turned back, so that exactly the changes differ. With them,
 * the left is the live object, and the right the same with each change made.
 */
import type { FieldChange, Json, JsonObject, ObjectDiff } from "@/api/types";

type Step = string | number | Record<string, string>;
type Container = Record<string, Json> | Json[];

export interface Sides {
  live: JsonObject | null;
  desired: JsonObject | null;
}

export function sides(object: ObjectDiff, withDefaults: boolean): Sides {
  const { live, desired, changes } = object;
  if (!live || !desired || !changes.length) return { live, desired };
  return withDefaults
    ? { live, desired: changed(live, changes, (one) => one.desired) }
    : { live: changed(desired, changes, (one) => one.live), desired };
}

function changed(
  object: JsonObject,
  changes: readonly FieldChange[],
  value: (change: FieldChange) => Json | null | undefined,
): JsonObject {
  const copy = structuredClone(object);
  for (const change of changes) put(copy, steps(change.path), value(change) ?? null);
  return copy;
}

/** `spec.containers[name=web].image`, `metadata.labels["a.b/c"]`, `spec.rules[0]`, as the agent writes them. */
export function steps(path: string): Step[] {
  const found = path.matchAll(/\["([^"]*)"\]|\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g);
  return [...found].map(([, quoted, index, keys, plain]) => {
    if (index !== undefined) return Number(index);
    if (keys !== undefined) return Object.fromEntries(keys.split(",").map((one) => pair(one)));
    return quoted ?? plain ?? "";
  });
}

function pair(text: string): [string, string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Null takes the field away. A step that leads nowhere makes what it needs. */
function put(object: JsonObject, path: readonly Step[], value: Json | null): void {
  let here: Container = object;
  for (const [number, step] of path.entries()) {
    const key: string | number = placeOf(here, step, value === null);
    if (key === -1) return;
    if (number === path.length - 1) return set(here, key, value);
    const inner: Json | undefined = member(here, key);
    if (typeof inner === "object" && inner !== null) here = inner as Container;
    else if (value === null) return;
    else here = made(here, key, path[number + 1]);
  }
}

/** The key or index in `here`; entries of a list are found by their keys, and added where they are missing. */
function placeOf(here: Container, step: Step, mustExist: boolean): string | number {
  if (typeof step !== "object") return step;
  if (!Array.isArray(here)) return -1;
  const found = here.findIndex((entry) => matches(entry, step));
  if (found >= 0 || mustExist) return found;
  return here.push({ ...step }) - 1;
}

function matches(entry: Json, keys: Record<string, string>): boolean {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return false;
  return Object.entries(keys).every(([key, value]) => String(entry[key]) === value);
}

const member = (here: Container, key: string | number): Json | undefined =>
  (here as Record<string | number, Json>)[key];

function made(here: Container, key: string | number, next: Step | undefined): Container {
  const fresh: Container = typeof next === "string" ? {} : [];
  (here as Record<string | number, Json>)[key] = fresh;
  return fresh;
}

function set(here: Container, key: string | number, value: Json | null): void {
  if (value !== null) (here as Record<string | number, Json>)[key] = value;
  else if (Array.isArray(here)) here.splice(Number(key), 1);
  else Reflect.deleteProperty(here, key);
}
