/* Changes of one live object as a person reads them. */
import type { ObjectPreview } from "@/api/schema";

/** A value in a line: texts as they are, all else as JSON; a field that is absent says so. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "absent";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function changesNothing(preview: ObjectPreview): boolean {
  return !preview.changes.length && !preview.creates.length && !preview.deletes.length;
}

/** `Job nightly-2611221530`, of a manifest. */
export function manifestText(manifest: Record<string, unknown>): string {
  const metadata = manifest["metadata"] as { name?: string; generateName?: string } | undefined;
  const name = metadata?.name ?? `${metadata?.generateName ?? ""}…`;
  return `${String(manifest["kind"])} ${name}`;
}

/** Every parameter has a value. */
export function isComplete(names: readonly string[], values: Readonly<Record<string, string>>): boolean {
  return names.every((name) => (values[name] ?? "") !== "");
}
