/* Labels as people type them: `team=core, tier=backend`. parse(show(labels)) gives the labels back. */
import type { Labels } from "@/api/schema";

export function parseLabels(text: string): Labels {
  const parts = text.split(/[\s,]+/).filter(Boolean);
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}

export function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/** All of the selector are among the own; nothing selector fits nothing. */
export function matchesLabels(own: Labels, selector: Labels): boolean {
  const names = Object.keys(selector);
  return names.length > 0 && names.every((name) => own[name] === selector[name]);
}
