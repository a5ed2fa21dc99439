/* The nouns of the connections page: their words, their fields, and how a credential is built and sealed. */
import type { JsonObject } from "@/api/schema";

export type SecretKind = "none" | "reference" | "password" | "ssh" | "token";

/** The page of the dashboard that shows a noun; the noun of the same name stands first on it. */
type ConnectionPage = "repositories" | "clusters" | "keys";

const OWN_CLUSTER = "https://kubernetes.default.svc";

/** The cluster that an agent runs in is there without an entry, so there is nothing to delete. */
export const isOwnCluster = (noun: ConnectionNoun, url: string): boolean =>
  noun === "clusters" && url === OWN_CLUSTER;

export interface NounWords {
  page: ConnectionPage;
  title: string;
  one: string;
  urlLabel: string;
  urlHint: string;
  /** What is public and typed in clear: a certificate, a key, known hosts. */
  textLabel: string;
  types: readonly string[];
  secrets: readonly SecretKind[];
  permission: string;
  empty: string;
}

const WORDS = {
  repositories: {
    page: "repositories",
    title: "Repositories",
    one: "repository",
    urlLabel: "URL",
    urlHint: "https://git.example/team/deploy.git",
    textLabel: "",
    types: ["git", "helm"],
    secrets: ["none", "reference", "password", "ssh"],
    permission: "gitops_repository",
    empty:
      "Public repositories need no entry. Add a private one with a reference to a Secret or an encrypted credential.",
  },
  "repository-credentials": {
    page: "repositories",
    title: "Credentials for several repositories",
    one: "credential for several repositories",
    urlLabel: "URL that the repositories begin with",
    urlHint: "https://git.example/team/",
    textLabel: "",
    types: ["git", "helm"],
    secrets: ["reference", "password"],
    permission: "gitops_repository",
    empty: "Add one to use the same login for all repositories of a server, or of a folder on it.",
  },
  clusters: {
    page: "clusters",
    title: "Clusters",
    one: "cluster",
    urlLabel: "API server",
    urlHint: "https://cluster.example:6443",
    textLabel: "",
    types: [],
    secrets: ["reference", "token"],
    permission: "gitops_cluster",
    empty: "Each agent deploys to its own cluster without an entry. Add further destination clusters here.",
  },
  certificates: {
    page: "keys",
    title: "Certificates and known hosts",
    one: "certificate or known host",
    urlLabel: "Server",
    urlHint: "git.example",
    textLabel: "Certificate (PEM) or lines of known_hosts",
    types: ["https", "ssh"],
    secrets: [],
    permission: "gitops_cert",
    empty: "Add one where a Git server has a certificate of a private CA, or speaks SSH.",
  },
  keys: {
    page: "keys",
    title: "GnuPG keys",
    one: "GnuPG key",
    urlLabel: "",
    urlHint: "",
    textLabel: "Public key, ASCII-armoured",
    types: [],
    secrets: [],
    permission: "gitops_gpgkey",
    empty: "Add the public keys that must have signed the commits of a project.",
  },
} satisfies Record<string, NounWords>;

/** The path of a kind's collection in the API: a row of bus/link/kinds.py has the same one. */
export type ConnectionNoun = keyof typeof WORDS;
export const NOUNS: Record<ConnectionNoun, NounWords> = WORDS;

/** The nouns that stand below the page's own one. */
export function furtherNouns(page: ConnectionNoun): ConnectionNoun[] {
  return (Object.keys(WORDS) as ConnectionNoun[]).filter(
    (noun) => noun !== page && WORDS[noun].page === page,
  );
}

export const SECRETS: Record<SecretKind, string> = {
  none: "None: public access",
  reference: "An existing Secret in the agent's cluster",
  password: "User name and password or token, encrypted here",
  ssh: "SSH key, encrypted here",
  token: "Bearer token, encrypted here",
};

export interface Typed {
  user: string;
  secret: string;
  secretName: string;
}

/**
 * The fields that are sealed, as the agent puts them into its Secret. The address is sealed with them,
 * so that whoever relays the box cannot hand the credential to another host.
 */
export function sealedFields(kind: SecretKind, typed: Typed, address: string): JsonObject | null {
  if (kind === "password") return { url: address, username: typed.user, password: typed.secret };
  if (kind === "ssh") return { url: address, sshPrivateKey: typed.secret };
  if (kind === "token") return { server: address, config: JSON.stringify({ bearerToken: typed.secret }) };
  return null;
}
