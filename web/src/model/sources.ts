/* The sources of an application with several, as its settings list them. */
import type { Json, JsonObject } from "@/api/schema";

export interface ListedSource {
  /** From 1, as a sync names it. */
  place: number;
  repository: string;
  words: string;
  revision: string;
}

/** List `spec.sources` with the revisions of the status; empty where the application has none. */
export function listedSources(spec: JsonObject, status: JsonObject): ListedSource[] {
  const revisions = texts(object(status["sync"])["revisions"]);
  const found = Array.isArray(spec["sources"]) ? spec["sources"].map(object) : [];
  return found.map((source, index) => ({
    place: index + 1,
    repository: text(source["repoURL"]),
    words: words(source),
    revision: revisions[index] ?? "",
  }));
}

function words(source: JsonObject): string {
  const chart = text(source["chart"]);
  const path = text(source["path"]);
  const ref = text(source["ref"]);
  return [
    chart && `chart ${chart}`,
    path && `path ${path}`,
    ref && `ref ${ref}`,
    `target revision ${text(source["targetRevision"]) || "HEAD"}`,
  ]
    .filter(Boolean)
    .join(", ");
}

function object(value: Json | undefined): JsonObject {
  return value && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
