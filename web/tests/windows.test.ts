import { describe, expect, it } from "vitest";
import type { SyncOpenNow, SyncWindowCalendar, SyncWindowLane } from "@/api/schema";
import { chosenText, days, laneBars, laneName, laneText, openText, stateBars, zoneOf } from "@/model/windows";

const lane: SyncWindowLane = {
  kind: "deny",
  schedule: "0 22 * * *",
  seconds: 28_800,
  timeZone: "Europe/Berlin",
  description: "",
  manualSync: true,
  syncOverrun: false,
  applications: ["*"],
  namespaces: [],
  clusters: ["prod-*"],
  andOperator: false,
  periods: [{ begin: "2026-10-24T20:00:00Z", end: "2026-10-25T05:00:00Z" }],
};
const automated: SyncOpenNow = { open: true, why: "", until: "2026-10-24T20:00:00Z" };
const byHand: SyncOpenNow = { open: true, why: "", until: "" };
const calendar: SyncWindowCalendar = {
  project: "shop",
  now: "2026-10-24T12:00:00Z",
  begin: "2026-10-23T12:00:00Z",
  end: "2026-11-01T12:00:00Z",
  states: [
    { begin: "2026-10-23T12:00:00Z", end: "2026-10-24T20:00:00Z", automated: true, byHand: true },
    { begin: "2026-10-24T20:00:00Z", end: "2026-11-01T12:00:00Z", automated: false, byHand: true },
  ],
  windows: [lane],
  unreadable: [],
  automated,
  byHand,
  overrideProblem: "",
};

describe("the strip of sync windows", () => {
  it("begins with today in the zone of the windows, and has days of 25 hours", () => {
    const strip = days(calendar, zoneOf(calendar));
    expect(strip).toHaveLength(7);
    expect(strip.at(0)?.begin).toBe(Date.parse("2026-10-23T22:00:00Z"));
    const hours = strip.map((day) => (day.end - day.begin) / 3_600_000);
    expect(hours).toEqual([24, 25, 24, 24, 24, 24, 24]);
  });

  it("takes the reader's zone where the windows have several", () => {
    const mixed = { ...calendar, windows: [lane, { ...lane, timeZone: "Asia/Tokyo" }] };
    expect(zoneOf(mixed)).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });

  it("cuts bars at its ends", () => {
    const strip = days(calendar, "Europe/Berlin");
    const bars = stateBars(calendar, strip, "automated", "Europe/Berlin");
    expect(bars.map(({ open }) => open)).toEqual([true, false]);
    expect(bars.at(0)?.left).toBe(0);
    expect(bars.reduce((sum, { width }) => sum + width, 0)).toBeCloseTo(100);
  });

  it("tells times in the zone", () => {
    const [bar] = laneBars(lane, days(calendar, "Europe/Berlin"), "Europe/Berlin");
    expect(bar?.title).toBe("Active Sat 22:00 to Sun 06:00");
  });

  it("says what a window does, and for whom", () => {
    expect(laneName(lane)).toBe("Deny for 8 h");
    expect(laneText(lane)).toBe("deny, 0 22 * * * for 8 h, Europe/Berlin; syncs by hand pass");
    expect(chosenText(lane)).toBe("applications * or clusters prod-*");
  });

  it("says the next change in words", () => {
    const now = Date.parse("2026-10-24T12:00:00Z");
    const open = openText("Automated syncs", automated, now, "Europe/Berlin");
    expect(open).toBe("Automated syncs are open until Sat 22:00, for 8 h.");
    const always = openText("Syncs by hand", byHand, now, "Europe/Berlin");
    expect(always).toBe("Syncs by hand are open, with no change in the next seven days.");
  });
});
