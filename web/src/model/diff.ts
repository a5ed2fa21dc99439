/*
 * Two texts beside each other, line by line: the shortest edit (Myers' greedy algorithm), then rows for two
 * columns. Long runs of equal lines fold to what is around a change.
 */

export interface Row {
  kind: "same" | "changed" | "gone" | "new" | "fold";
  left: string | null;
  right: string | null;
  leftLine: number;
  rightLine: number;
  /** Equal lines that a fold hides. */
  hides: number;
}

type Edit = { op: "same" | "gone" | "new"; text: string };

const LONGEST = 4000;

export function sideBySide(left: string, right: string): Row[] {
  return paired(edits(split(left), split(right)));
}

function split(text: string): string[] {
  return text === "" ? [] : text.split("\n").slice(0, LONGEST);
}

function edits(a: string[], b: string[]): Edit[] {
  const trace: Map<number, number>[] = [];
  let frontier = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= a.length + b.length; d++) {
    trace.push(new Map(frontier));
    const next = new Map(frontier);
    for (let k = -d; k <= d; k += 2) {
      let x = fromAbove(frontier, k, d) ? at(frontier, k + 1) : at(frontier, k - 1) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++;
        y++;
      }
      next.set(k, x);
      if (x >= a.length && y >= b.length) return walkBack(trace, a, b);
    }
    frontier = next;
  }
  return [];
}

const at = (frontier: Map<number, number>, k: number) => frontier.get(k) ?? -1;
const fromAbove = (frontier: Map<number, number>, k: number, d: number) =>
  k === -d || (k !== d && at(frontier, k - 1) < at(frontier, k + 1));

function walkBack(trace: Map<number, number>[], a: string[], b: string[]): Edit[] {
  const out: Edit[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = trace.length - 1; d >= 0; d--) {
    const frontier = trace[d] ?? new Map<number, number>();
    const k = x - y;
    const before = fromAbove(frontier, k, d) ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : at(frontier, before);
    const fromY = d === 0 ? 0 : fromX - before;
    for (; x > fromX && y > fromY; x--, y--) out.push({ op: "same", text: a[x - 1] ?? "" });
    if (d === 0) break;
    if (x === fromX) out.push({ op: "new", text: b[--y] ?? "" });
    else out.push({ op: "gone", text: a[--x] ?? "" });
  }
  return out.reverse();
}

/** Lines that went and lines that came in the same place stand beside each other. */
function paired(list: readonly Edit[]): Row[] {
  const rows: Row[] = [];
  let gone: string[] = [];
  let fresh: string[] = [];
  let [l, r] = [0, 0];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, fresh.length); i++) {
      const [left, right] = [gone[i] ?? null, fresh[i] ?? null];
      const kind = left === null ? "new" : right === null ? "gone" : "changed";
      rows.push(row(kind, left, right, left === null ? 0 : ++l, right === null ? 0 : ++r));
    }
    [gone, fresh] = [[], []];
  };
  for (const { op, text } of list) {
    if (op === "gone") gone.push(text);
    else if (op === "new") fresh.push(text);
    else {
      flush();
      rows.push(row("same", text, text, ++l, ++r));
    }
  }
  flush();
  return rows;
}

function row(
  kind: Row["kind"],
  left: string | null,
  right: string | null,
  leftLine: number,
  rightLine: number,
): Row {
  return { kind, left, right, leftLine, rightLine, hides: 0 };
}

/** Keeps `around` equal lines at each change and folds the rest. */
export function folded(rows: readonly Row[], around = 3): Row[] {
  const isContext = rows.map((_, i) =>
    rows.slice(Math.max(0, i - around), i + around + 1).some((one) => one.kind !== "same"),
  );
  const out: Row[] = [];
  for (const [i, one] of rows.entries()) {
    const last = out.at(-1);
    if (isContext[i]) out.push(one);
    else if (last?.kind === "fold") last.hides += 1;
    else out.push({ ...row("fold", null, null, 0, 0), hides: 1 });
  }
  return out;
}
