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
  "gitops_application_exec",
  "gitops_object_edit",
  "gitops_object_delete",
  "access_view",
  "access_edit",
  "audit_view",
  "settings_edit",
].sort() as Permission[];

const PATTERN = /^action\/[A-Za-z0-9.*-]{0,253}\/[A-Za-z0-9*]{1,63}\/[A-Za-z0-9._*-]{1,100}$/;

/** The patterns of resource actions in a text, one a line. */
export function patternsOf(text: string): string[] {
  return [...new Set(text.split("\n").map((line) => line.trim()))].filter(Boolean);
}

/** What is wrong with the first pattern that is none; empty where all are. */
export function patternFault(text: string): string {
  const wrong = patternsOf(text).find((one) => !PATTERN.test(one));
  return wrong
    ? `${wrong} is no pattern: expected action/group/kind/name, as action/apps/Deployment/restart.`
    : "";
}
