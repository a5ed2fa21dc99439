/* Nothing is offered that no agent would do. */
import { describe, expect, it } from "vitest";
import { supportsCredential, supportsType, whyNot } from "@/model/supported";

const plain = { capabilities: ["task.put", "sealed"] };
const able = { capabilities: ["credential.ssh", "destination.cluster"] };

describe("what an agent does not say it can", () => {
  it("is not offered", () => {
    expect(whyNot("clusters", "cluster", [plain])).toBe(
      "The agents of this account do not support adding a cluster.",
    );
    expect(whyNot("keys", "GnuPG key", [plain, able])).not.toBe("");
    expect(supportsCredential(plain, "ssh") || supportsType(plain, "ssh")).toBe(false);
  });

  it("is offered as soon as one agent says so", () => {
    expect(whyNot("clusters", "cluster", [plain, able])).toBe("");
    expect(supportsCredential(able, "ssh")).toBe(true);
  });

  it("needs no word where every agent can", () => {
    expect(whyNot("repositories", "repository", [plain])).toBe("");
    expect(supportsCredential(plain, "password")).toBe(true);
  });
});
