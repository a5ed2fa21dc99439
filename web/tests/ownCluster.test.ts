import { expect, test } from "vitest";
import { isOwnCluster } from "@/model/connections";

test("only the cluster of the agent itself cannot be deleted", () => {
  expect(isOwnCluster("clusters", "https://kubernetes.default.svc")).toBe(true);
  expect(isOwnCluster("clusters", "https://prod.example:6443")).toBe(false);
  expect(isOwnCluster("repositories", "https://kubernetes.default.svc")).toBe(false);
});
