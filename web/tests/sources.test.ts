import { describe, expect, it } from "vitest";
import { listedSources } from "@/model/sources";

const CHART = { repoURL: "https://charts.example", chart: "web", targetRevision: "1.2.0" };
const LENT = { repoURL: "https://git.example/values", ref: "values" };

describe("the sources of an application", () => {
  it("are listed with their revisions", () => {
    const status = { sync: { revisions: ["1.2.0", "b".repeat(40)] } };
    expect(listedSources({ sources: [CHART, LENT] }, status)).toEqual([
      {
        place: 1,
        repository: "https://charts.example",
        words: "chart web, target revision 1.2.0",
        revision: "1.2.0",
      },
      {
        place: 2,
        repository: "https://git.example/values",
        words: "ref values, target revision HEAD",
        revision: "b".repeat(40),
      },
    ]);
  });

  it("are none where there is one source, or something else", () => {
    expect(listedSources({ source: CHART }, {})).toEqual([]);
    expect(listedSources({ sources: "no list" }, { sync: null })).toEqual([]);
    const [odd] = listedSources({ sources: [null] }, { sync: { revisions: [1] } });
    expect(odd).toMatchObject({ repository: "", revision: "" });
  });
});
