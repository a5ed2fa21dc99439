/* Keys of Kubernetes objects as the agent writes them: `group/kind/namespace/name`, with an empty group for core. */
import type { TreeNode } from "@/api/schema";

export interface ObjectKey {
  group: string;
  kind: string;
  namespace: string;
  name: string;
}

export function keyOf(object: ObjectKey): string {
  return [object.group, object.kind, object.namespace, object.name].join("/");
}

export function parseKey(key: string): ObjectKey {
  const [group = "", kind = "", namespace = "", ...rest] = key.split("/");
  return { group, kind, namespace, name: rest.join("/") };
}

/** `Deployment payments`, the way one says it. */
export function keyText(key: string): string {
  const { kind, name } = parseKey(key);
  return `${kind} ${name}`;
}

export const nodeKey = (node: TreeNode): string => keyOf(node);
