/* What is said of things, in words. */
import { describe, expect, it } from "vitest";
import { policySentence } from "@/model/allowed";
import { connectionMark } from "@/model/connectionMark";
import { sealedFields } from "@/model/credentialForms";
import { inWords } from "@/model/conditions";
import { hourly } from "@/model/drifts";
import { markOf, sentenceOf } from "@/model/facts";
import { bars } from "@/model/hops";
import { keyOf, parseKey, keyText } from "@/model/keys";
import { lanes, ticks } from "@/model/lanes";
import { byNoun, PERMISSIONS } from "@/model/permissions";
import { withoutAutoSync } from "@/model/spec";
import { reported } from "@/model/reportedTree";
import { count, countsText, shortImage, shortRepository, shortRevision } from "@/model/text";
import { besides } from "@/model/status";
import { firstReason, otherConditions, reasons } from "@/model/reasons";
import type { JsonObject } from "@/api/schema";
import { application, fact } from "./samples";

describe("short forms", () => {
  it("of a commit are seven characters, of a tag all", () => {
    expect(shortRevision("a1b2c3d4".repeat(5))).toBe("a1b2c3d");
    expect(shortRevision("v1.2.3")).toBe("v1.2.3");
  });

  it.each([
    "https://git.example/shop/deploy.git",
    "git@git.example:shop/deploy.git",
    "ssh://git@git.example/shop/deploy",
  ])("of %s are what people say", (url) => {
    expect(shortRepository(url)).toBe("shop/deploy");
  });

  it("of an image leave the registry away", () => {
    expect(shortImage("registry.example:5000/shop/web:1.2")).toBe("web:1.2");
  });

  it("of an object are kind and name", () => {
    expect(keyText("apps/Deployment/shop/web")).toBe("Deployment web");
    expect(keyOf(parseKey("/Namespace//shop"))).toBe("/Namespace//shop");
  });
});

describe("plural forms", () => {
  it.each([
    [1, "object", "1 object"],
    [2, "object", "2 objects"],
    [2, "repository", "2 repositories"],
    [3, "Ingress", "3 Ingresses"],
    [2, "Gateway", "2 Gateways"],
  ])("of %d %s are right", (n, one, text) => expect(count(n, one)).toBe(text));

  it("of kinds are right in a list", () => {
    expect(countsText({ Repository: 1, Application: 31 })).toBe("31 Applications, 1 Repository");
  });
});

describe("why an application needs a person", () => {
  const cause = {
    object: "/Pod/shop/web-1-x",
    health: "Degraded",
    reason: "ImagePullBackOff",
    message: "web:9: not found",
    since: "2026-01-01T11:00:00Z",
  };
  const failure = {
    object: "apps/Deployment/shop/web",
    message: "spec.replicas is no number",
    revision: "b".repeat(40),
    since: "2026-01-01T11:30:00Z",
    retries: 2,
    retrying: true,
  };

  it("is the deepest ill object, in a sentence that leads to it", () => {
    expect(reasons(application({ health: "Degraded", cause }))).toEqual([
      {
        label: "Degraded",
        text: "Pod web-1-x: ImagePullBackOff: web:9: not found",
        since: "2026-01-01T11:00:00Z",
        object: "/Pod/shop/web-1-x",
      },
    ]);
  });

  it("is a sync that fails, though all objects are healthy and it is being retried", () => {
    const [one] = reasons(application({ attention: "SyncFailed", syncFailure: failure }));
    expect(one).toMatchObject({
      label: "Sync fails, retry 2",
      text: "Deployment web: spec.replicas is no number",
    });
  });

  it("is a source that cannot be rendered, and is not said twice", () => {
    const conditions = [{ type: "ComparisonError", message: "a.yaml:3: no mapping", since: "" }];
    const app = application({ attention: "Unreadable", conditions });
    expect(firstReason(app)).toBe("a.yaml:3: no mapping");
    expect(otherConditions(app)).toEqual([]);
  });

  it("is nothing when all is well", () => expect(reasons(application())).toEqual([]));

  it("gives the list a state of its own, beside health and sync", () => {
    const words = [
      application({ attention: "SyncFailed", syncFailure: failure }),
      application({ attention: "SyncFailed", syncFailure: { ...failure, retrying: false } }),
      application({ attention: "Unreadable" }),
      application({ running: { ...application().running, rolledBack: true } }),
      application(),
    ].map((app) => besides(app)?.word);
    expect(words).toEqual(["Sync failing", "Sync failed", "Not readable", "Rolled back", undefined]);
  });
});

describe("a condition that is new to this page", () => {
  it("has words all the same", () => {
    expect(inWords("SomethingNewWarning")).toMatchObject({ title: "Something New Warning", bad: false });
  });
});

describe("facts", () => {
  it.each([
    [fact("operation.finished.v1", { phase: "Succeeded" }), "sync", "good"],
    [fact("operation.finished.v1", { phase: "Failed", message: "no" }), "sync", "bad"],
    [fact("operation.started.v1", { initiated_by: "mira" }), "person", "busy"],
    [fact("operation.started.v1", { automated: true }), "sync", "busy"],
    [fact("health.assessed.v1", { status: "Degraded", before: "Healthy" }), "health", "bad"],
    [fact("revision.resolved.v2", { revision: "b".repeat(40) }), "push", "calm"],
    [fact("resources.applied.v1", { failed: [{ resource: "apps/Deployment/shop/web" }] }), "sync", "bad"],
    [fact("resources.applied.v1", { applied: 2 }), "sync", "busy"],
    [fact("app.compared.v1", { status: "OutOfSync", missing: 1 }), "drift", "warn"],
    [fact("something.new.v1"), "person", "calm"],
  ])("have a kind and a tone: %#", (one, kind, tone) => expect(markOf(one)).toEqual({ kind, tone }));

  it("are said as the service says them, as sentences of their own", () => {
    expect(sentenceOf(fact("app.compared.v1", {}, { sentence: "no sync: a window" }))).toBe(
      "No sync: a window",
    );
  });

  const span = {
    since: Date.parse("2026-01-01T11:00:00Z"),
    until: Date.parse("2026-01-01T13:00:00Z"),
    width: 1000,
  };

  it("that would cover each other are one dot, the loudest", () => {
    const two = [
      fact("operation.finished.v1", { phase: "Succeeded" }),
      fact("operation.finished.v1", { phase: "Failed" }),
    ];
    expect(lanes(two, () => "prod", span)).toMatchObject([
      { environment: "prod", dots: [{ count: 2, tone: "bad", x: 500 }] },
    ]);
  });

  it("outside the time shown are not drawn", () => {
    expect(lanes([fact("app.deleted.v1", {}, { time: "2025-01-01T00:00:00Z" })], () => "prod", span)).toEqual(
      [],
    );
  });

  it("stand over an axis with round times", () => {
    expect(ticks(span).length).toBeGreaterThan(3);
    expect(ticks(span).every((tick) => /:(00|15|30|45)$/.test(tick.text))).toBe(true);
  });
});

describe("numbers as shapes", () => {
  it("of hops fill the bar, and none is too thin to see", () => {
    const parts = bars({ hops: [1, 999, 0].map((ms, i) => ({ name: `h${i}`, time: "", ms })) });
    const last = parts.at(-1);
    expect(Math.round((last?.x ?? 0) + (last?.width ?? 0) + 2)).toBe(1000);
    expect(Math.min(...parts.map((part) => part.width))).toBeGreaterThanOrEqual(4);
  });

  it("of drift count each hour's own minutes, and what lasts until now", () => {
    const now = Date.parse("2026-01-01T12:30:00Z");
    const drift = {
      id: "",
      agent: "",
      agentName: "",
      application: "",
      subject: "",
      project: "",
      environment: "",
      region: "",
      object: "",
      fields: [],
      actor: "",
      beganAt: "2026-01-01T11:40:00Z",
      endedAt: null,
      endedHow: "" as const,
      seconds: 0,
    };
    expect(hourly([drift], now, 2).map((bar) => bar.minutes)).toEqual([20, 30]);
  });
});

describe("limits, connections and permissions", () => {
  it.each([
    [{}, "Everything in every namespace."],
    [{ readOnly: true }, "Read-only: the cluster owner allows no changes."],
    [
      { kinds: ["sync"], namespaces: ["shop"], maxPerMinute: 5 },
      "Only sync in shop, 5 changes a minute at most.",
    ],
    [{ problem: "unknown key" }, "Read-only: its policy cannot be parsed (unknown key)."],
    [{ configMaps: ["*"] }, "Everything in every namespace. It may show the contents of ConfigMaps."],
  ])("are said in one sentence: %j", (allowed, text) => expect(policySentence(allowed)).toBe(text));

  it("of a connection that was never used are not called broken", () => {
    expect(connectionMark({ status: "", message: "" }).word).toBe("Not used yet");
    expect(connectionMark({ status: "Failed", message: "401" })).toMatchObject({ tone: "bad", means: "401" });
  });

  it("seal what is secret, together with where it may be used", () => {
    const typed = { username: "u", password: "s" };
    const url = "https://git.example/team/apps";
    expect(sealedFields("password", typed, url)).toEqual({ url, username: "u", password: "s" });
    expect(sealedFields("reference", { secretName: "n" }, url)).toBeNull();
  });

  it("seal the login of a cluster as its Secret has it, without the fields that are empty", () => {
    const server = "https://cluster.example:6443";
    const token = sealedFields("token", { token: "t", ca: "" }, server);
    expect(token).toEqual({ server, config: JSON.stringify({ bearerToken: "t" }) });
    const typed = { certificate: "C", key: "K", ca: "A" };
    const { config } = sealedFields("certificate", typed, server) as { config: string };
    const tls = (JSON.parse(config) as { tlsClientConfig: Record<string, string> }).tlsClientConfig;
    expect(Object.entries(tls).map(([name, value]) => [name, atob(value)])).toEqual([
      ["certData", "C\n"],
      ["keyData", "K\n"],
      ["caData", "A\n"],
    ]);
    const app = sealedFields("githubApp", { id: "7", key: " K\n", installation: "" }, "https://github.com/a");
    expect(app).toEqual({ url: "https://github.com/a", githubAppID: "7", githubAppPrivateKey: "K\n" });
  });

  it("list each permission once", () => {
    expect(new Set(PERMISSIONS).size).toBe(PERMISSIONS.length);
    expect(byNoun(["gitops_application_view", "gitops_application_sync"])).toEqual([
      { noun: "application", verbs: ["sync", "view"] },
    ]);
  });
});

describe("the tree before the agent answers", () => {
  it("is what was last reported, with words that this page does not know left out", () => {
    const resources: JsonObject[] = [
      { kind: "ConfigMap", namespace: "shop", name: "settings", status: "OutOfSync" },
      { group: "apps", kind: "Deployment", name: "web", status: "Strange", health: { status: "Healthy" } },
    ];
    const nodes = reported({
      ...application(),
      version: "1",
      annotations: {},
      spec: {},
      status: { resources },
    });
    expect(nodes.map((node) => [node.kind, node.health, node.sync])).toEqual([
      ["ConfigMap", "", "OutOfSync"],
      ["Deployment", "", ""],
    ]);
  });
});

describe("switching auto-sync off", () => {
  it("keeps prune and self-heal, and the rest of the policy", () => {
    const spec = {
      project: "shop",
      syncPolicy: { automated: { prune: true }, syncOptions: ["CreateNamespace=true"] },
    };
    expect(withoutAutoSync(spec)).toEqual({
      project: "shop",
      syncPolicy: { automated: { prune: true, enabled: false }, syncOptions: ["CreateNamespace=true"] },
    });
    expect(spec.syncPolicy.automated).toBeDefined();
  });
});
