import { describe, expect, it } from "vitest";
import { EventParser } from "@/model/sse";

const TEXT = 'id: 4\nevent: fact\ndata: {"a":1}\n\n: beat\n\nid: 5\r\ndata: one\r\ndata: two\r\n\r\n';
const EVENTS = [
  { id: "4", event: "fact", data: '{"a":1}' },
  { id: "5", event: "message", data: "one\ntwo" },
];

describe("server-sent events", () => {
  it("are whole, with comments left out", () => {
    expect(new EventParser().push(TEXT)).toEqual(EVENTS);
  });

  it("are the same wherever the network cuts them", () => {
    const parser = new EventParser();
    expect([...TEXT].flatMap((letter) => parser.push(letter))).toEqual(EVENTS);
  });

  it("keep the last id for an event without one", () => {
    const parser = new EventParser();
    expect(parser.push("id: 9\ndata: a\n\ndata: b\n\n").map((event) => event.id)).toEqual(["9", "9"]);
  });

  it("are nothing until their empty line has come", () => {
    expect(new EventParser().push("data: half\n")).toEqual([]);
  });
});
