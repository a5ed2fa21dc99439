/* A list in pages, newest first, of which the first is read again and again. */
import type { Page } from "@/api/schema";

export interface Joined<T> {
  rows: readonly T[];
  /** The cursor of what lies below; null: nothing. */
  next: string | null;
}

type Id<T> = (row: T) => string;

/**
 * The first page as it is now, above what was read below it. What has left the first page by newer rows stays;
 * where nothing of the two meets, rows between them may be missing, and the list starts anew.
 */
export function renewed<T>(page: Page<T>, known: Joined<T>, id: Id<T>): Joined<T> {
  const fresh = new Set(page.items.map(id));
  const met = known.rows.findLastIndex((row) => fresh.has(id(row)));
  if (met < 0 || page.next === null) return { rows: page.items, next: page.next };
  return { rows: [...page.items, ...known.rows.slice(met + 1)], next: known.next };
}

export function extended<T>(known: Joined<T>, page: Page<T>, id: Id<T>): Joined<T> {
  const have = new Set(known.rows.map(id));
  return { rows: [...known.rows, ...page.items.filter((row) => !have.has(id(row)))], next: page.next };
}
