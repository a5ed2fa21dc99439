import { describe, expect, it } from "vitest";
import type { ApplicationDetail, JsonObject } from "@/api/schema";
import { externalLinks } from "@/model/externalLinks";

const app = (externalURLs: unknown): ApplicationDetail =>
  ({ status: { summary: { externalURLs } } as JsonObject }) as ApplicationDetail;

describe("the links of an application", () => {
  it("have a title of their own, or their address", () =>
    expect(externalLinks(app(["Logs|https://logs.example/a", "http://shop.example/"]))).toEqual([
      { title: "Logs", url: "https://logs.example/a" },
      { title: "shop.example/", url: "http://shop.example/" },
    ]));
  it("lead to web addresses only", () =>
    expect(externalLinks(app(["javascript:alert(1)", "A|javascript:alert(1)", 7]))).toEqual([]));
  it("are none where the status has none", () => expect(externalLinks(app(undefined))).toEqual([]));
});
