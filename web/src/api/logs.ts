/* Lines of a pod's log, as they come; at most as many are kept as a person reads. */
import { address, type Query } from "./client";
import { EventParser } from "@/model/sse";

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
    for (const event of parser.push(piece.value)) line(textOf(event.data));
  }
}

function textOf(data: string): string {
  if (!data.startsWith("{")) return data;
  try {
    const body = JSON.parse(data) as { line?: string; text?: string };
    return body.line ?? body.text ?? data;
  } catch {
    return data;
  }
}
