/* The URLs of an application, from its Ingresses and link annotations. */
import type { ApplicationDetail, JsonObject } from "@/api/schema";

export interface ExternalLink {
  title: string;
  url: string;
}

const WEB = /^https?:\/\//i;

export const isWebAddress = (url: string): boolean => WEB.test(url);

/** `Title|URL` or a URL alone; whoever writes an object writes these, so only web addresses. */
export function externalLinks(app: ApplicationDetail): ExternalLink[] {
  const summary = app.status["summary"] as JsonObject | undefined;
  const urls = summary?.["externalURLs"];
  if (!Array.isArray(urls)) return [];
  return urls
    .filter((one) => typeof one === "string")
    .map(linkOf)
    .filter((one) => WEB.test(one.url));
}

function linkOf(text: string): ExternalLink {
  const at = text.lastIndexOf("|");
  const url = text.slice(at + 1);
  return { title: text.slice(0, Math.max(at, 0)) || url.replace(WEB, ""), url };
}
