/** Calls of the dashboard's own endpoints; what /v1 has too goes by the client that anybody has. */
import { type Client, createClient, ShorthopError } from "../../../clients/typescript/src/index.ts";

type Call = { method?: "GET" | "POST" | "PATCH" | "DELETE"; body?: unknown; accept?: string };

const TIMEOUT_MS = 30_000;

/** Sends a request to this site; throws {@link ShorthopError}, or what `fetch` throws. */
export async function send(path: string, { method = "GET", body, accept }: Call = {}) {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (accept !== undefined) headers["accept"] = accept;
  const response = await fetch(path, {
    method,
    headers,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await toError(response);
  return response;
}

/** The service checks its answers against the schemas that these types were written from. */
export const ask = async <Answer>(path: string, call?: Call): Promise<Answer> =>
  (await (await send(path, call)).json()) as Answer;

async function toError(response: Response): Promise<ShorthopError> {
  const text = await response.text();
  const { code = "unknown", message = `The service answered ${response.status}.` } =
    readError(text);
  return new ShorthopError(response.status, code, message, undefined, undefined);
}

function readError(text: string): { code?: string; message?: string } {
  try {
    const body = JSON.parse(text) as { error?: { code?: string; message?: string } };
    return body.error ?? {};
  } catch {
    return {};
  }
}

export type Mode = "live" | "test";

/** An account and a mode, by which everything else is found. */
export type Place = { account: string; mode: Mode };

/** Where /v1 is for a place. */
export const baseOf = ({ account, mode }: Place): string => `/api/${account}/${mode}`;

export const clientOf = (place: Place): Client =>
  createClient({ baseUrl: location.origin + baseOf(place), retriesMax: 1 });

/** Fetches a path as CSV and hands it to the browser as a file. */
export async function downloadCsv(path: string, name: string): Promise<void> {
  const response = await send(path, { accept: "text/csv" });
  saveFile(await response.blob(), name);
}

/** Lets the browser save a file. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
