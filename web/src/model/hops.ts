/* The hops of a push to scale: none thinner than can be seen. */
import type { Push } from "@/api/types";

const WIDTH = 1000;
const LEAST = 6;

export interface HopPart {
  index: number;
  name: string;
  ms: number;
  x: number;
  width: number;
}

export function bars(push: Pick<Push, "hops">): HopPart[] {
  const total = push.hops.reduce((sum, hop) => sum + Math.max(0, hop.ms), 0) || 1;
  const room = WIDTH - LEAST * push.hops.length;
  let x = 0;
  return push.hops.map((hop, index) => {
    const width = LEAST + (Math.max(0, hop.ms) / total) * room;
    const part = { index, name: hop.name, ms: hop.ms, x, width: width - 2 };
    x += width;
    return part;
  });
}
