/* The hops of a push to scale: none thinner than can be seen. */
import type { PushTrace } from "@/api/schema";

const WIDTH = 1000;
const LEAST = 6;

export interface HopPart {
  index: number;
  name: string;
  ms: number;
  x: number;
  width: number;
}

/** What was reached at the end of each hop; a fact that is not known here says its own name. */
const WORDS: Record<string, string> = {
  "revision.resolved": "fetched",
  "refresh.failed": "not fetched",
  "manifests.rendered": "rendered",
  "manifests.failed": "not rendered",
  "app.compared": "compared",
  "sync.skipped": "sync not started",
  "operation.started": "sync started",
  "resources.applied": "applied",
  "operation.finished": "sync ended",
  "health.assessed": "health",
};

export function hopWord(name: string): string {
  const short = name.replace(/\.v\d+$/, "");
  return WORDS[short] ?? short.replaceAll(".", " ");
}

export function bars(push: Pick<PushTrace, "hops">): HopPart[] {
  const total = push.hops.reduce((sum, hop) => sum + Math.max(0, hop.ms), 0) || 1;
  const flexible = WIDTH - LEAST * push.hops.length;
  let x = 0;
  return push.hops.map((hop, index) => {
    const width = LEAST + (Math.max(0, hop.ms) / total) * flexible;
    const part = { index, name: hopWord(hop.name), ms: hop.ms, x, width: width - 2 };
    x += width;
    return part;
  });
}
