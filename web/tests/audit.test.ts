import { describe, expect, it } from "vitest";
import { actionText, outcomeOf } from "@/model/audit";

describe("what became of an action", () => {
  it.each([
    ["denied", "refused", "denied", "bad"],
    ["allowed", "failed", "failed", "bad"],
    ["allowed", "not_allowed", "not allowed", "bad"],
    ["allowed", "succeeded", "succeeded", "good"],
    ["allowed", "ok", "succeeded", "good"],
    ["allowed", "healed", "healed", "good"],
    ["allowed", "queued", "queued", "calm"],
    ["allowed", "", "allowed", "good"],
  ])("%s, %s: %s", (decision, outcome, word, tone) =>
    expect(outcomeOf({ decision, outcome })).toMatchObject({ word, tone }),
  );
});

describe("an action in words", () => {
  it.each([
    ["application.sync", "Application sync requested"],
    ["agent.revoked", "Agent revoked"],
    ["agent-key.bound", "Agent key vouched for"],
    ["login", "Login"],
  ])("%s: %s", (action, text) => expect(actionText(action)).toBe(text));
});
