import { describe, expect, it } from "vitest";
import { extended, renewed } from "@/model/pages";

const id = (row: string) => row;
const page = (items: string[], next: string | null = "more") => ({ items, next, total: null });

describe("a list in pages", () => {
  it("keeps what a newer row has pushed off the first page", () =>
    expect(renewed(page(["4", "3"]), { rows: ["3", "2", "1"], next: "c" }, id)).toEqual({
      rows: ["4", "3", "2", "1"],
      next: "c",
    }));

  it("starts anew where rows between may be missing", () =>
    expect(renewed(page(["9", "8"]), { rows: ["3", "2"], next: "c" }, id).rows).toEqual(["9", "8"]));

  it("forgets what is gone from the first page", () =>
    expect(renewed(page(["4", "2"]), { rows: ["4", "3", "2", "1"], next: "c" }, id).rows).toEqual([
      "4",
      "2",
      "1",
    ]));

  it("ends where the first page is all there is", () =>
    expect(renewed(page(["4"], null), { rows: ["4", "3"], next: "c" }, id)).toEqual({
      rows: ["4"],
      next: null,
    }));

  it("grows at its end, no row twice", () =>
    expect(extended({ rows: ["4", "3"], next: "c" }, page(["3", "2"], null), id)).toEqual({
      rows: ["4", "3", "2"],
      next: null,
    }));
});
