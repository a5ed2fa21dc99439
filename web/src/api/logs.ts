/* Lines of a pod's log, as they come; at most as many are kept as a person reads. */
import { address, type Query } from "./client";
import { EventParser, type ServerEvent } from "@/model/sse";

export async function followLogs(
  id: string,
  query: Query,
  line: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(address(`/applications/${encodeURIComponent(id)}/logs`, query), {
    headers: { Accept: "text/event-stream" },
    signal,
  });
  if (!response.ok || !response.body)
    throw new Error(`The log cannot be read: the service answered ${response.status}.`);
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    for (const event of parser.push(piece.value)) passOn(event, line);
  }
}

function passOn(event: ServerEvent, line: (text: string) => void): void {
  if (event.event === "dropped")
    line(`(${event.data} lines skipped: they arrived faster than they could be read)`);
  else if (event.event === "message") textOf(event.data).replace(/\n$/, "").split("\n").forEach(line);
}

function textOf(data: string): string {
  try {
    const body = JSON.parse(data) as { text?: string };
    return body.text ?? "";
  } catch {
    return data;
  }
}
