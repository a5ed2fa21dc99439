/* The nouns of the connections page: their words, and which credentials they take. */
import type { CredentialKind } from "./credentialForms";

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
  credentials: readonly CredentialKind[];
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
    types: ["git", "helm", "oci"],
    credentials: ["none", "reference", "password", "ssh", "githubApp"],
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
    types: ["git", "helm", "oci"],
    credentials: ["reference", "password", "ssh", "githubApp"],
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
    credentials: ["reference", "token", "certificate"],
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
    credentials: [],
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
    credentials: [],
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
