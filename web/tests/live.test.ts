import { describe, expect, it } from "vitest";
import { apply } from "@/model/live";
import { application, change } from "./samples";

const known = (...apps: ReturnType<typeof application>[]) => new Map(apps.map((app) => [app.id, app]));

describe("what the stream says", () => {
  it("is merged into the row it names, which glows", () => {
    const effect = apply(known(application()), [
      change("application.changed", { health: "Healthy", sync: "OutOfSync" }),
    ]);
    expect(effect.apps.get("1")).toMatchObject({ sync: "OutOfSync", asOf: "2026-01-01T12:00:05Z" });
    expect([...effect.touched]).toEqual(["1"]);
  });

  it("tells since when, from the moment it was said", () => {
    const effect = apply(known(application()), [
      change("application.changed", { health: "Degraded", sync: "Synced" }),
    ]);
    expect(effect.apps.get("1")).toMatchObject({
      healthSince: "2026-01-01T12:00:05Z",
      syncSince: "2026-01-01T10:00:00Z",
    });
  });

  it("asks again for the message of what fell ill", () => {
    const effect = apply(known(application()), [change("application.changed", { health: "Degraded" })]);
    expect([...effect.stale]).toEqual(["1"]);
  });

  it("is ignored where it is older than what is known", () => {
    const late = change("application.changed", { health: "Missing" }, { time: "2026-01-01T11:00:00Z" });
    expect(apply(known(application()), [late]).apps.get("1")?.health).toBe("Healthy");
  });

  it("ends the same in one batch and in two", () => {
    const [one, two] = [
      change("application.changed", { health: "Degraded" }),
      change("application.changed", { health: "Healthy" }),
    ];
    const whole = apply(known(application()), [one, two]).apps;
    const parts = apply(apply(known(application()), [one]).apps, [two]).apps;
    expect(parts).toEqual(whole);
  });

  it("removes what is gone, and not the namesake of another agent", () => {
    const other = application({ id: "2", agent: { id: "agent-2", name: "qa", status: "connected" } });
    const effect = apply(known(application(), other), [change("application.removed")]);
    expect([...effect.apps.keys()]).toEqual(["2"]);
  });

  it("asks for the whole list when it names what is not known here", () => {
    expect(apply(known(), [change("application.changed", { health: "Healthy", id: "9" })]).all).toBe(true);
  });

  it("ages every row of an agent that went away", () => {
    const effect = apply(known(application()), [change("agent.changed", { status: "disconnected" })]);
    expect(effect.apps.get("1")?.agent.status).toBe("disconnected");
  });
});
