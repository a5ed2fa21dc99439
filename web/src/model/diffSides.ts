/*
 * The two sides of an object's difference. Without the server's defaults, the left is what Git describes as the
 * cluster has it: the desired object with each change turned back, so that exactly the changes differ. With them,
 * the left is the live object, and the right the same with each change create.
 */
import type { FieldChange, Json, JsonObject, ObjectDiff } from "@/api/schema";

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
  let container: Container = object;
  for (const [number, step] of path.entries()) {
    const key: string | number = keyOf(container, step, value === null);
    if (key === -1) return;
    if (number === path.length - 1) return set(container, key, value);
    const inner: Json | undefined = member(container, key);
    if (typeof inner === "object" && inner !== null) container = inner as Container;
    else if (value === null) return;
    else container = create(container, key, path[number + 1]);
  }
}

/** The key or index in `container`; entries of a list are found by their keys, and added where they are missing. */
function keyOf(container: Container, step: Step, mustExist: boolean): string | number {
  if (typeof step !== "object") return step;
  if (!Array.isArray(container)) return -1;
  const found = container.findIndex((entry) => matches(entry, step));
  if (found >= 0 || mustExist) return found;
  return container.push({ ...step }) - 1;
}

function matches(entry: Json, keys: Record<string, string>): boolean {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return false;
  return Object.entries(keys).every(([key, value]) => String(entry[key]) === value);
}

const member = (container: Container, key: string | number): Json | undefined =>
  (container as Record<string | number, Json>)[key];

function create(container: Container, key: string | number, next: Step | undefined): Container {
  const fresh: Container = typeof next === "string" ? {} : [];
  (container as Record<string | number, Json>)[key] = fresh;
  return fresh;
}

function set(container: Container, key: string | number, value: Json | null): void {
  if (value !== null) (container as Record<string | number, Json>)[key] = value;
  else if (Array.isArray(container)) container.splice(Number(key), 1);
  else Reflect.deleteProperty(container, key);
}
