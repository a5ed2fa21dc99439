/* The service's own OpenAPI document, made from its code at this moment, so that no copy of it can be old. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Schema {
  $ref?: string;
  type?: string;
  items?: Schema;
  anyOf?: Schema[];
  enum?: (string | number | null)[];
  properties?: Record<string, Schema>;
}

interface Operation {
  parameters: { name: string; in: string }[];
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const ours = `${root}.venv/bin/python`;

export function readDocument(): Document {
  const python = existsSync(ours) ? ours : "python3";
  const output = execFileSync(python, ["-m", "service.api.description"], { cwd: root, maxBuffer: 2 ** 26 });
  return JSON.parse(output.toString()) as Document;
}
