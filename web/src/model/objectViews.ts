/* What can be seen and done with one object of the tree: the views of its drawer, and the entries of its menu. */
import type { TreeNode } from "@/api/schema";
import type { ObjectKey } from "./keys";

export interface ObjectView {
  id: string;
  name: string;
}

/** Kinds that have pages of their own, and one whose values may not pass the service. */
const NOT_EDITED = new Set(["Application", "AppProject", "Secret"]);

export function isEditable(key: ObjectKey): boolean {
  return !NOT_EDITED.has(key.kind);
}

/** `node` is null where the object is not in the cluster; `shells`: whether there may be a shell in its containers. */
export function objectViews(key: ObjectKey, node: TreeNode | null, shells = false): ObjectView[] {
  const orphaned = node?.orphaned === true;
  const ids = ["summary", ...(orphaned ? [] : ["diff"]), "manifest"];
  if (!orphaned) ids.push("events", ...(key.kind === "Pod" ? ["logs"] : []));
  if (shells && !orphaned && key.kind === "Pod" && node?.uid) ids.push("terminal");
  if (node?.uid && !orphaned && isEditable(key)) ids.push("edit");
  ids.push("actions", ...(node?.uid ? ["delete"] : []));
  return ids.map((id) => ({ id, name: id.charAt(0).toUpperCase() + id.slice(1) }));
}
