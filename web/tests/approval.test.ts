import { describe, expect, it } from "vitest";
import type { ApplicationDetail, JsonObject } from "@/api/schema";
import { approvalAwaited } from "@/model/approval";

const app = (phase: string, message: string, conditions: object[] = []): ApplicationDetail =>
  ({ phase, conditions, status: { operationState: { message } } as JsonObject }) as ApplicationDetail;

const PRUNE = "waiting for pruning confirmation of ConfigMap/old; approve it";

describe("what waits for an approval", () => {
  it("is the prune of a running operation", () => expect(approvalAwaited(app("Running", PRUNE))).toBe(PRUNE));
  it("is no prune of an operation that has ended", () =>
    expect(approvalAwaited(app("Failed", PRUNE))).toBe(""));
  it("is nothing where an operation waits for something else", () =>
    expect(approvalAwaited(app("Running", "waiting for healthy state of Pod/a"))).toBe(""));
  it("is the deletion of the application", () => {
    const condition = { type: "DeletionConfirmationWarning", message: "waiting for a", since: "" };
    expect(approvalAwaited(app("Succeeded", "", [condition]))).toBe("waiting for a");
  });
});
