/*
 * JSON values as the YAML that Kubernetes people read: for showing and comparing, not for applying. Text that
 * YAML would read as something else is quoted.
 */
import type { Json } from "@/api/schema";

const PLAIN = /^[A-Za-z_/.][\w ./@:+=,-]*$/;
const SPECIAL = /^(true|false|null|yes|no|on|off|y|n|~)$/i;

export function toYaml(value: Json): string {
  return lines(value, "").join("\n");
}

function lines(value: Json, indent: string): string[] {
  if (Array.isArray(value) && value.length) return value.flatMap((item) => listItem(item, indent));
  if (isMap(value) && Object.keys(value).length) {
    return Object.entries(value).flatMap(([key, item]) => pair(key, item, indent));
  }
  return [indent + scalar(value)];
}

function listItem(item: Json, indent: string): string[] {
  if (!isNested(item)) return [`${indent}- ${scalar(item)}`];
  const [first = "", ...rest] = lines(item, `${indent}  `);
  return [`${indent}- ${first.trimStart()}`, ...rest];
}

function pair(key: string, item: Json, indent: string): string[] {
  const name = indent + (isPlain(key) ? key : JSON.stringify(key));
  if (isNested(item)) return [`${name}:`, ...lines(item, Array.isArray(item) ? indent : `${indent}  `)];
  if (typeof item === "string" && item.includes("\n")) {
    return [
      `${name}: |`,
      ...item
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => `${indent}  ${line}`),
    ];
  }
  return [`${name}: ${scalar(item)}`];
}

function scalar(value: Json): string {
  if (typeof value === "string") return isPlain(value) ? value : JSON.stringify(value);
  if (Array.isArray(value)) return "[]";
  if (isMap(value)) return "{}";
  return String(value);
}

const isPlain = (text: string) => PLAIN.test(text) && !SPECIAL.test(text) && !/(: |:$| $)/.test(text);
const isMap = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNested = (value: Json) =>
  Array.isArray(value) ? value.length > 0 : isMap(value) && Object.keys(value).length > 0;
