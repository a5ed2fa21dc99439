/* What this control plane may do at an agent, in one sentence. */
import type { AgentPolicy } from "@/api/schema";

const all = (names: readonly string[] | undefined) => !names?.length || names.includes("*");

const taken = (names: readonly string[] | undefined) => names?.some((name) => name.startsWith("!"));

/** Values of a ConfigMap are hidden where its owner does not name it. */
function shown(configMaps: readonly string[] | undefined): string {
  if (!configMaps?.length) return "";
  return configMaps.includes("*")
    ? " It may show the contents of ConfigMaps."
    : ` It may show the contents of these ConfigMaps: ${configMaps.join(", ")}.`;
}

export function policySentence(allowed: AgentPolicy): string {
  if (allowed.problem) return `Read-only: its policy cannot be parsed (${allowed.problem}).`;
  if (allowed.readOnly) return "Read-only: the cluster owner allows no changes.";
  const what = all(allowed.kinds) ? "Everything" : `Only ${(allowed.kinds ?? []).join(", ")}`;
  const where = all(allowed.namespaces)
    ? "in every namespace"
    : `in ${(allowed.namespaces ?? []).join(", ")}`;
  const scope = allowed.clusterScoped === false ? ", no cluster-scoped objects" : "";
  const kinds =
    all(allowed.objectKinds) && !taken(allowed.objectKinds)
      ? ""
      : `, of objects ${(allowed.objectKinds ?? []).join(", ")}`;
  const rate = allowed.maxPerMinute ? `, ${allowed.maxPerMinute} changes a minute at most` : "";
  const windows = allowed.overrideWindow ? " One sync may pass a closed sync window, with a reason." : "";
  const shells = allowed.exec ? " Shells may be opened in containers." : "";
  return `${what} ${where}${scope}${kinds}${rate}.${windows}${shells}${shown(allowed.configMaps)}`;
}
