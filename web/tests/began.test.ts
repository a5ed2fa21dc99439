import { describe, expect, it } from "vitest";
import { hopWord } from "@/model/hops";
import { began } from "@/model/lanes";
import { fact } from "./samples";

const HOUR = 3_600_000;
const until = Date.parse("2026-01-01T12:00:00Z");
const since = until - 6 * HOUR;
const at = (minutes: number) =>
  fact("app.deleted.v1", {}, { time: new Date(until - minutes * 60_000).toISOString() });

describe("a timeline begins", () => {
  it("with its time where facts are spread over it", () =>
    expect(began([at(1), at(200)], since, until)).toBe(since));
  it("with its time where there are none", () => expect(began([], since, until)).toBe(since));
  it("shortly before the first fact where all are at its end", () =>
    expect(until - began([at(1), at(60)], since, until)).toBe(66 * 60_000));
  it("ten minutes ago at the latest", () => expect(until - began([at(1)], since, until)).toBe(10 * 60_000));
});

describe("a hop in words", () => {
  it.each([
    ["manifests.rendered.v1", "rendered"],
    ["webhook", "webhook"],
    ["some.thing.v2", "some thing"],
  ])("%s", (name, words) => expect(hopWord(name)).toBe(words));
});
