/* Labels as people type them: `team=core, tier=backend`. parse(say(labels)) gives the labels back. */
import type { Labels } from "@/api/types";

export function parseLabels(text: string): Labels {
  const parts = text.split(/[\s,]+/).filter(Boolean);
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}

export function sayLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/** All of the wanted are among the own; nothing wanted fits nothing. */
export function carries(own: Labels, wanted: Labels): boolean {
  const names = Object.keys(wanted);
  return names.length > 0 && names.every((name) => own[name] === wanted[name]);
}
