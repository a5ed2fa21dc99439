/*
 * The forms for credentials: which fields a person fills in, and what of them is sealed for the agent.
 * The fields that are sealed are those of Argo CD's Secrets. The address is sealed with them, so that
 * whoever relays the box cannot hand the credential to another host.
 */
import type { JsonObject } from "@/api/schema";

export interface CredentialField {
  name: string;
  label: string;
  /** `text` is shown while it is typed; a `file` has several lines. */
  input: "text" | "secret" | "file";
  optional?: true;
  hint?: string;
}

interface CredentialForm {
  label: string;
  fields: readonly CredentialField[];
  sealed?: (typed: Readonly<Record<string, string>>, address: string) => JsonObject;
}

const CA: CredentialField = {
  name: "ca",
  label: "Certificate authority (PEM)",
  input: "file",
  optional: true,
  hint: "Needed where the API server's certificate is not of a public authority.",
};

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(`${text.trim()}\n`)));

/** Without the fields that are empty. */
const filled = (fields: Readonly<Record<string, string | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : [])));

function clusterConfig(login: JsonObject, tls: JsonObject): string {
  return JSON.stringify(Object.keys(tls).length ? { ...login, tlsClientConfig: tls } : login);
}

const FORMS = {
  none: { label: "None: public access", fields: [] },
  reference: {
    label: "An existing Secret in the agent's cluster",
    fields: [
      {
        name: "secretName",
        label: "Name of the Secret",
        input: "text",
        hint: "It must have the label plumbline.dev/credential=true and list its URLs in the annotation plumbline.dev/credential-urls.",
      },
    ],
  },
  password: {
    label: "User name and password or token, encrypted here",
    fields: [
      { name: "username", label: "User name", input: "text" },
      { name: "password", label: "Password or token", input: "secret" },
    ],
    sealed: ({ username = "", password = "" }, url) => ({ url, username, password }),
  },
  ssh: {
    label: "SSH key, encrypted here",
    fields: [
      {
        name: "key",
        label: "Private key",
        input: "file",
        hint: "Without a passphrase. The ConfigMap argocd-ssh-known-hosts-cm needs the host's line.",
      },
    ],
    sealed: ({ key = "" }, url) => ({ url, sshPrivateKey: `${key.trim()}\n` }),
  },
  githubApp: {
    label: "GitHub App, encrypted here",
    fields: [
      { name: "id", label: "App ID", input: "text" },
      { name: "key", label: "Private key (PEM)", input: "file" },
      {
        name: "installation",
        label: "Installation ID",
        input: "text",
        optional: true,
        hint: "Empty: the installation at the repository's owner.",
      },
      {
        name: "base",
        label: "API of GitHub Enterprise",
        input: "text",
        optional: true,
        hint: "https://github.example/api/v3; empty for github.com.",
      },
    ],
    sealed: ({ id, key = "", installation, base }, url) =>
      filled({
        url,
        githubAppID: id,
        githubAppPrivateKey: `${key.trim()}\n`,
        githubAppInstallationID: installation,
        githubAppEnterpriseBaseUrl: base,
      }),
  },
  token: {
    label: "Bearer token, encrypted here",
    fields: [{ name: "token", label: "Token", input: "secret" }, CA],
    sealed: ({ token = "", ca }, server) => ({
      server,
      config: clusterConfig({ bearerToken: token }, ca ? { caData: base64(ca) } : {}),
    }),
  },
  certificate: {
    label: "Client certificate, encrypted here",
    fields: [
      { name: "certificate", label: "Certificate (PEM)", input: "file" },
      { name: "key", label: "Private key (PEM)", input: "file" },
      CA,
    ],
    sealed: ({ certificate = "", key = "", ca }, server) => ({
      server,
      config: clusterConfig(
        {},
        {
          certData: base64(certificate),
          keyData: base64(key),
          ...(ca ? { caData: base64(ca) } : {}),
        },
      ),
    }),
  },
} satisfies Record<string, CredentialForm>;

export type CredentialKind = keyof typeof FORMS;
export const CREDENTIAL_FORMS: Record<CredentialKind, CredentialForm> = FORMS;

/** The object whose text is sealed; null where nothing secret was typed. */
export function sealedFields(
  kind: CredentialKind,
  typed: Readonly<Record<string, string>>,
  address: string,
): JsonObject | null {
  return CREDENTIAL_FORMS[kind].sealed?.(typed, address) ?? null;
}
