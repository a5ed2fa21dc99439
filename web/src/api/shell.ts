/* A shell in a container, over a WebSocket of the service. */
import { address } from "./client";

export interface ShellPlace {
  appId: string;
  namespace: string;
  pod: string;
  columns: number;
  rows: number;
}

export interface ShellEvents {
  output: (text: string) => void;
  /** Once: with the exit code, or why there is none. */
  end: (text: string) => void;
}

interface ShellMessage {
  type: "output" | "end";
  text?: string;
  exitCode?: number | null;
  reason?: string;
}

const REFUSED = "The shell cannot be opened: the connection was refused or lost.";

export class ShellSocket {
  private readonly socket: WebSocket;
  private ended = false;

  constructor(
    place: ShellPlace,
    private readonly events: ShellEvents,
  ) {
    const { appId, ...query } = place;
    const url = new URL(address(`/applications/${encodeURIComponent(appId)}/exec`, query), location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.socket = new WebSocket(url);
    this.socket.onmessage = ({ data }) => this.take(String(data));
    this.socket.onclose = () => this.end(REFUSED);
  }

  type(text: string): void {
    for (let start = 0; start < text.length; start += 8192)
      this.send({ type: "input", text: text.slice(start, start + 8192) });
  }

  resize(columns: number, rows: number): void {
    this.send({ type: "size", columns, rows });
  }

  close(): void {
    this.ended = true;
    this.socket.close();
  }

  private send(message: object): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private take(data: string): void {
    const message = JSON.parse(data) as ShellMessage;
    if (message.type === "output") this.events.output(message.text ?? "");
    else this.end(endOf(message));
  }

  private end(text: string): void {
    if (!this.ended) this.events.end(text);
    this.ended = true;
  }
}

function endOf({ exitCode, reason }: ShellMessage): string {
  return typeof exitCode === "number" ? `The shell ended with exit code ${exitCode}.` : (reason ?? "");
}
