/* An Application or AppProject as its manifest, and changes of its spec that the dashboard makes. */
import type { ApplicationDetail, JsonObject, Labels } from "@/api/schema";

type Described = Pick<ApplicationDetail, "name" | "namespace" | "labels" | "annotations" | "spec">;

/** What a person may write of it; the rest is the cluster's. */
export function manifestOf(
  app: Described,
  spec: JsonObject = app.spec,
  kind: "Application" | "AppProject" = "Application",
): JsonObject {
  const { name, namespace, labels, annotations } = app;
  const some = (values: Labels) => Object.keys(values).length > 0;
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind,
    metadata: {
      name,
      namespace,
      ...(some(labels) ? { labels } : {}),
      ...(some(annotations) ? { annotations } : {}),
    },
    spec: inOrder(spec),
  };
}

const FIRST = ["project", "source", "sources", "destination", "syncPolicy"];

/** As people write a spec, not as the database keeps it. */
function inOrder(spec: JsonObject): JsonObject {
  const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return Object.fromEntries(Object.entries(spec).sort(([a], [b]) => rank(a) - rank(b)));
}

/** The same spec, synced by a person only; prune and self-heal are kept for when it is on again. */
export function withoutAutoSync(spec: JsonObject): JsonObject {
  const policy = (spec["syncPolicy"] ?? {}) as JsonObject;
  const automated = policy["automated"] as JsonObject | undefined;
  if (!automated) return spec;
  return { ...spec, syncPolicy: { ...policy, automated: { ...automated, enabled: false } } };
}
