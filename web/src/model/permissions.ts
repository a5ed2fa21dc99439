/* Permissions as a person reads them: by noun, with the verbs beside. */
import type { Permission } from "@/api/schema";

export interface Granted {
  noun: string;
  verbs: string[];
}

export function byNoun(permissions: readonly string[]): Granted[] {
  const found = new Map<string, string[]>();
  for (const permission of [...permissions].sort()) {
    const [noun = "", ...verb] = permission.replace(/^gitops_/, "").split("_");
    found.set(noun, [...(found.get(noun) ?? []), verb.join(" ")]);
  }
  return [...found].map(([noun, verbs]) => ({ noun, verbs }));
}

/** `application: sync, view; audit: view`. */
export function permissionsText(permissions: readonly string[]): string {
  return byNoun(permissions)
    .map(({ noun, verbs }) => `${noun}: ${verbs.join(", ")}`)
    .join("; ");
}

const NOUNS = ["agent", "application", "cert", "cluster", "gpgkey", "repository"] as const;
const VERBS = ["view", "edit", "delete"] as const;

/** Every permission that there is. */
export const PERMISSIONS: readonly Permission[] = [
  ...NOUNS.flatMap((noun) => VERBS.map((verb) => `gitops_${noun}_${verb}` as const)),
  "gitops_application_sync",
  "gitops_application_override",
  "gitops_application_override_window",
  "gitops_application_action",
  "gitops_object_edit",
  "gitops_object_delete",
  "access_view",
  "access_edit",
  "audit_view",
  "settings_edit",
].sort() as Permission[];
