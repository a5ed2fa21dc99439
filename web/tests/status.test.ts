import { describe, expect, it } from "vitest";
import { AGENT, HEALTH, isAway, isCalm, PHASE, severity, SYNC } from "@/model/status";
import { application } from "./samples";

describe("a status", () => {
  it.each([
    ["health", HEALTH],
    ["sync", SYNC],
    ["phase", PHASE],
    ["agent", AGENT],
  ])("of %s always has a word, a shape and what it means", (_, marks) => {
    for (const mark of Object.values(marks)) {
      expect(mark.word && mark.shape && mark.means && mark.tone).toBeTruthy();
    }
  });

  it("of health has a shape of its own, whatever the colour", () => {
    const shapes = Object.values(HEALTH).map((mark) => mark.shape);
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it("is worst when it needs a person most", () => {
    const apps = [
      application({ health: "Healthy" }),
      application({ health: "Healthy", sync: "OutOfSync", attention: "OutOfSync" }),
      application({ health: "Missing", attention: "Missing" }),
      application({ health: "Healthy", attention: "SyncFailed" }),
      application({ health: "Unknown", attention: "Unreadable" }),
      application({ health: "Degraded", attention: "Degraded" }),
      application({ health: "Degraded", sync: "OutOfSync", attention: "Degraded" }),
    ];
    const order = apps.map(severity);
    expect([...order].sort((a, b) => b - a)).toEqual(order);
  });

  it("is calm only when it is well and equal to Git", () => {
    expect(isCalm(application())).toBe(true);
    expect(isCalm(application({ sync: "OutOfSync" }))).toBe(false);
  });

  it("of a stale agent is not away yet", () => {
    expect(["connected", "stale", "waiting"].map((status) => isAway(status as "stale"))).toEqual([
      false,
      false,
      false,
    ]);
    expect(isAway("disconnected") && isAway("lost") && isAway("revoked")).toBe(true);
  });
});
