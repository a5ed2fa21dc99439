/* Server-sent events as text arrives: pieces of any length in, whole events out. https://html.spec.whatwg.org/#server-sent-events */

export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

export class EventParser {
  private rest = "";
  private id = "";
  private event = "";
  private data: string[] = [];

  /** `LF` and `CR LF` end a line; a piece may end in the middle of one. */
  push(piece: string): ServerEvent[] {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    const out: ServerEvent[] = [];
    for (const line of lines) this.line(line.replace(/\r$/, ""), out);
    return out;
  }

  private line(line: string, out: ServerEvent[]): void {
    if (line === "") return this.end(out);
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") this.id = value;
    else if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
  }

  private end(out: ServerEvent[]): void {
    if (this.data.length)
      out.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
    this.event = "";
    this.data = [];
  }
}
