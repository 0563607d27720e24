/** Calls of the dashboard's own endpoints; what /v1 has too goes by the client that anybody has. */
import { type Call, createSend } from "../../../clients/typescript/src/http.ts";
import { type Client, createClient } from "../../../clients/typescript/src/index.ts";

type Options = Partial<Pick<Call, "method" | "body" | "accept">>;

const sendOnce = createSend({ baseUrl: location.origin, retriesMax: 0 });

/** Sends a request to this site; throws `ShorthopError`, or what `fetch` throws. */
export const send = (path: string, { method = "GET", ...rest }: Options = {}): Promise<Response> =>
  sendOnce({ method, path, ...rest });

/** The service checks its answers against the schemas that these types were written from. */
export const ask = async <Answer>(path: string, options?: Options): Promise<Answer> =>
  (await (await send(path, options)).json()) as Answer;

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
