/*
 * What has to be read again, gathered for a second: a few rows are read one by one; more than that is cheaper
 * as the whole list.
 */
const COLLECT_MS = 1000;
const FEW = 20;

export type Reread = (ids: string[], everything: boolean) => Promise<void>;

export function collect(reread: Reread): (ids: Iterable<string>, everything: boolean) => void {
  let stale = new Set<string>();
  let all = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function go(): void {
    const [ids, everything] = [[...stale], all || stale.size > FEW];
    [timer, stale, all] = [undefined, new Set(), false];
    void reread(ids, everything);
  }

  return (ids, everything) => {
    for (const id of ids) stale.add(id);
    all ||= everything;
    if (all || stale.size) timer ??= setTimeout(go, COLLECT_MS);
  };
}
