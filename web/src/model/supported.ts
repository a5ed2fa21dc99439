/*
 * What agents can act upon, by the capabilities that each tells when it connects: nothing is offered that no
 * agent of this account would do. A capability that an agent does not name is one that it does not have.
 */
import type { AgentSummary } from "@/api/schema";
import type { ConnectionNoun } from "./connections";
import type { CredentialKind } from "./credentialForms";

type Able = Pick<AgentSummary, "capabilities">;

/** What must be said by the agent that shall use a connection; the others every agent can. */
const NOUNS: Partial<Record<ConnectionNoun, string>> = {
  clusters: "destination.cluster",
  keys: "signature.gnupg",
};
const CREDENTIALS: Partial<Record<CredentialKind, string>> = {
  ssh: "credential.ssh",
  githubApp: "credential.github-app",
};
const TYPES: Record<string, string> = { ssh: "credential.ssh" };

const has = (agent: Able, word: string | undefined) => !word || agent.capabilities.includes(word);

export const supportsNoun = (agent: Able, noun: ConnectionNoun) => has(agent, NOUNS[noun]);
export const supportsCredential = (agent: Able, kind: CredentialKind) => has(agent, CREDENTIALS[kind]);
export const supportsType = (agent: Able, type: string) => has(agent, TYPES[type]);

/** Why a connection of this noun cannot be added; empty where some agent would use it. */
export function whyNot(noun: ConnectionNoun, one: string, agents: readonly Able[]): string {
  return agents.some((agent) => supportsNoun(agent, noun))
    ? ""
    : `The agents of this account do not support adding a ${one}.`;
}
