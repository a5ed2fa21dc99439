/*
 * A manifest as text, and single fields of it. The text is the truth: what a form changes is written into it,
 * and everything else, comments and order with it, stays as a person wrote it.
 */
import { parseAllDocuments, parseDocument, type Document } from "yaml";
import type { JsonObject } from "@/api/schema";

export interface Reading {
  manifest: JsonObject | null;
  /** Why it cannot be sent, in words; empty where it can. */
  fault: string;
  line: number;
}

type Path = readonly string[];

export function readManifest(text: string, kind: string): Reading {
  if (!text.trim()) return wrong("The manifest is empty.");
  const documents = [...parseAllDocuments(text)];
  if (documents.length > 1) return wrong("The manifest has more than one document; send them one by one.");
  const [document] = documents;
  const error = document?.errors[0];
  if (error) return wrong(firstLine(error.message), error.linePos?.[0].line);
  const found: unknown = document?.toJS();
  if (typeof found !== "object" || found === null || Array.isArray(found))
    return wrong("Not a manifest: expected apiVersion, kind, metadata and spec.");
  const manifest = found as JsonObject;
  if (manifest["kind"] !== kind)
    return wrong(`The kind is ${String(manifest["kind"] ?? "missing")}, expected ${kind}.`);
  return { manifest, fault: "", line: 0 };
}

const wrong = (fault: string, line = 0): Reading => ({ manifest: null, fault, line });
const firstLine = (text: string) => text.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? text;

/** What stands there; undefined where nothing does or the text cannot be read. */
export function valueAt(text: string, path: Path): unknown {
  const document = parseDocument(text);
  const found: unknown = document.errors.length ? undefined : document.getIn(path);
  return isNode(found) ? found.toJSON() : found;
}

/** The text with this value there; with nothing there for `undefined`, and no empty maps left behind. */
export function withValue(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text);
  if (document.errors.length) return text;
  if (value !== undefined) document.setIn(path, value);
  else if (document.hasIn(path)) removeAt(document, path);
  return document.toString({ lineWidth: 0, indentSeq: false });
}

function removeAt(document: Document, path: Path): void {
  document.deleteIn(path);
  const above = path.slice(0, -1);
  const left = document.getIn(above);
  if (above.length > 1 && isNode(left) && isEmpty(left.toJSON())) removeAt(document, above);
}

const isEmpty = (value: unknown) =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;
const isNode = (value: unknown): value is { toJSON(): unknown } =>
  typeof value === "object" && value !== null && "toJSON" in value;

export const NEW_APP_PROJECT = `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: ""
  namespace: argocd
spec:
  description: ""
  # From where, and to where. A leading ! denies.
  sourceRepos:
  - https://git.example/team/*
  destinations:
  - server: https://kubernetes.default.svc
    namespace: team-*
  # No kind without a namespace, unless it is named here.
  clusterResourceWhitelist: []
`;

export const NEW_APPLICATION = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: ""
  namespace: argocd
  # labels:
  #   plumbline.dev/service: payments
  #   plumbline.dev/environment: prod
spec:
  project: default
  source:
    repoURL: ""
    path: ""
    targetRevision: HEAD
  destination:
    server: https://kubernetes.default.svc
    namespace: ""
  syncPolicy:
    automated:
      prune: true
      selfHeal: true
    syncOptions:
    - CreateNamespace=true
`;
