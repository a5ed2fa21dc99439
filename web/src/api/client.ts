/*
 * One way to the service: JSON over the same origin, the CSRF token on what changes something, a deadline
 * on every call, and problem+json turned into an error that can be shown as it is.
 */
import type { ProblemDetails } from "./schema";

const BASE = "/api/v1";
const DEADLINE_MS = 30_000;
const SAFE = new Set(["GET", "HEAD"]);

export type Query = Record<string, string | number | boolean | undefined>;

export class ProblemError extends Error {
  constructor(readonly problem: ProblemDetails) {
    super(problem.detail || problem.title);
    this.name = "ProblemError";
  }
}

let csrf = "";
let onSignedOut: () => void = () => undefined;

export function useCsrf(token: string): void {
  csrf = token;
}

export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") search.set(name, String(value));
  }
  const tail = search.toString();
  return BASE + path + (tail ? `?${tail}` : "");
}

export interface Call {
  method?: string;
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
}

export async function send(path: string, call: Call = {}): Promise<Response> {
  const method = call.method ?? "GET";
  const headers: Record<string, string> = { Accept: "application/json", ...call.headers };
  if (!SAFE.has(method)) {
    headers["X-CSRF-Token"] = csrf;
    headers["Idempotency-Key"] ??= crypto.randomUUID();
  }
  if (call.body !== undefined) headers["Content-Type"] = "application/json";
  const response = await reach(address(path, call.query), {
    method,
    headers,
    credentials: "same-origin",
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  if (!response.ok) throw await refusal(response, path);
  return response;
}

export async function request<T>(path: string, call: Call = {}): Promise<T> {
  const response = await send(path, call);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const late = error instanceof DOMException && error.name === "TimeoutError";
    throw new ProblemError({
      type: "about:blank",
      status: 0,
      title: late ? "The service did not answer in time" : "The service cannot be reached",
      detail: late
        ? `No answer within ${DEADLINE_MS / 1000} seconds. The request may still be carried out.`
        : "The connection from this browser to the service failed. The last known state is shown.",
    });
  }
}

async function refusal(response: Response, path: string): Promise<ProblemError> {
  const problem = await readProblem(response);
  if (response.status === 401 && path !== "/login" && path !== "/me") onSignedOut();
  return new ProblemError(problem);
}

async function readProblem(response: Response): Promise<ProblemDetails> {
  const fallback: ProblemDetails = {
    type: "about:blank",
    title: "The service refused",
    status: response.status,
    detail: `The answer was ${response.status} ${response.statusText}.`,
  };
  try {
    return { ...fallback, ...((await response.json()) as Partial<ProblemDetails>) };
  } catch {
    return fallback;
  }
}

export function asProblem(error: unknown): ProblemDetails {
  if (error instanceof ProblemError) return error.problem;
  return { type: "about:blank", status: 0, title: "Something in this page failed", detail: String(error) };
}
