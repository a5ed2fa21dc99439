/* From one box of a drawing to the next in a direction: nearest along it, with little aside. */
import type { Placed } from "./layout";

export type Direction = "left" | "right" | "up" | "down";

export function neighbour(
  boxes: ReadonlyMap<string, Placed>,
  from: string,
  direction: Direction,
): Placed | null {
  const start = boxes.get(from);
  if (!start) return null;
  let best: Placed | null = null;
  let least = Infinity;
  for (const box of boxes.values()) {
    const [along, aside] = distance(start, box, direction);
    const cost = along + aside * 2;
    if (along > 0 && cost < least) [best, least] = [box, cost];
  }
  return best;
}

function distance(a: Placed, b: Placed, direction: Direction): [number, number] {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  if (direction === "right") return [dx, Math.abs(dy)];
  if (direction === "left") return [-dx, Math.abs(dy)];
  return direction === "down" ? [dy, Math.abs(dx)] : [-dy, Math.abs(dx)];
}
