/* Small words: plural forms, commits, repositories. */

export function count(n: number, one: string, many = plural(one)): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/** Seven characters of a commit; a tag or a range stays as it is. */
export function shortRevision(revision: string): string {
  return /^[0-9a-f]{40,64}$/.test(revision) ? revision.slice(0, 7) : revision;
}

/** The part of a repository's URL that people say. */
export function shortRepository(url: string): string {
  return url
    .replace(/^[a-z+]+:\/\/([^@/]*@)?[^/]+\//, "")
    .replace(/^[^@\s]+@[^:]+:/, "")
    .replace(/\.git$/, "");
}

/** The last word of an image without its registry: `payments:1.4.2`. */
export function shortImage(image: string): string {
  const tail = image.slice(image.lastIndexOf("/") + 1);
  return tail.replace(/@sha256:([0-9a-f]{12})[0-9a-f]*/, "@$1");
}

/** The plural of an English noun, as Kubernetes forms those of its kinds: `Repositories`, `Ingresses`. */
export function plural(one: string): string {
  if (/[^aeiou]y$/.test(one)) return `${one.slice(0, -1)}ies`;
  return /(s|x|ch|sh)$/.test(one) ? `${one}es` : `${one}s`;
}

/** `3 Applications, 1 Repository`: how many of each kind, the most first. */
export function countsText(kinds: Readonly<Record<string, number>>): string {
  return Object.entries(kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, n]) => count(n, kind, plural(kind)))
    .join(", ");
}
