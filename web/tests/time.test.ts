import { describe, expect, it } from "vitest";
import { age, ago, duration, clockErrorText, roundTripText } from "@/model/time";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const before = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();

describe("a duration", () => {
  it.each([
    [41, "41 ms"],
    [1800, "1.8 s"],
    [42_000, "42 s"],
    [4 * 60_000, "4 min"],
    [130 * 60_000, "2 h 10 min"],
    [26 * 3_600_000, "1 d 2 h"],
    [30 * 86_400_000, "30 d"],
  ])("of %d ms is %s", (ms, text) => expect(duration(ms)).toBe(text));
});

describe("an age", () => {
  it.each([
    [1, "now"],
    [-30, "now"],
    [44, "44 s"],
    [4 * 60, "4 min"],
    [3700, "1 h"],
    [3 * 86_400, "3 d"],
  ])("of %d seconds is %s", (seconds, text) => expect(age(before(seconds), NOW)).toBe(text));

  it("of what never happened is never, and not long ago", () => {
    expect(ago(null, NOW)).toBe("never");
    expect(ago("nonsense", NOW)).toBe("never");
    expect(ago(before(60), NOW)).toBe("1 min ago");
  });
});

describe("two clocks", () => {
  it.each([
    ["2026-01-01T12:00:00Z", null, ""],
    ["2026-01-01T12:00:00Z", "2026-01-01T11:57:00Z", "the agent's clock was 3 min behind"],
    ["2026-01-01T12:00:00Z", "2026-01-01T12:00:40Z", "the agent's clock was 40 s ahead"],
  ])("at %s and %s are told apart", (time, agent, text) => expect(clockErrorText(time, agent)).toBe(text));

  it("are joined by a round trip, of which less than a millisecond is said so", () => {
    expect([null, 0, 0.4, 12].map(roundTripText)).toEqual([
      "not connected",
      "round trip < 1 ms",
      "round trip < 1 ms",
      "round trip 12 ms",
    ]);
  });
});
