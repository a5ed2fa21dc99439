import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as nouns from "@/api/endpoints";
import { readDocument } from "./service";

interface Asked {
  method: string;
  path: string;
  query: string[];
}

const document = readDocument();
const asked: Asked[] = [];

/** Stands for every argument: an id, a query, a body. */
const ANY = Object.create(null, { toString: { value: () => "x" } }) as object;
/** Calls whose words are part of the path. */
const WORDS: Record<string, unknown[]> = {
  "applications.bulk": ["sync", []],
  "agents.epoch": ["x", "x", "accept"],
  "connections.list": ["repositories"],
  "connections.add": ["repositories", {}],
  "connections.remove": ["repositories", "x"],
  "access.create": ["roles", {}],
  "access.remove": ["roles", "x"],
};

beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", (address: string, { method = "GET" }: RequestInit) => {
    const url = new URL(address, "http://here");
    asked.push({ method: method.toLowerCase(), path: url.pathname, query: [...url.searchParams.keys()] });
    return Promise.resolve(Response.json({}));
  });
});
afterEach(() => vi.unstubAllGlobals());

type Call = (...given: unknown[]) => Promise<unknown>;
const calls = Object.entries(nouns).flatMap(([noun, made]) =>
  Object.entries(made).map(([verb, call]) => [`${noun}.${verb}`, call as unknown as Call] as const),
);

function operation({ method, path }: Asked) {
  const fits = (template: string) => new RegExp(`^${template.replace(/{\w+}/g, "[^/]+")}$`).test(path);
  const exact = document.paths[path]?.[method];
  const template = Object.keys(document.paths).find((one) => fits(one) && document.paths[one]?.[method]);
  return exact ?? (template ? document.paths[template]?.[method] : undefined);
}

describe("every call of the dashboard is one that the service has", () => {
  it.each(calls)("%s", async (name, call) => {
    await call(...(WORDS[name] ?? Array<unknown>(call.length).fill(ANY)));
    expect(asked.length).toBeGreaterThan(0);
    for (const one of asked) {
      const known = operation(one);
      expect(known, `${one.method} ${one.path}`).toBeDefined();
      const names = known?.parameters.filter((it) => it.in === "query").map((it) => it.name);
      expect(names).toEqual(expect.arrayContaining(one.query));
    }
  });
});
