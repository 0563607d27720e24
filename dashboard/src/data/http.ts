/** Requests to the dashboard's own endpoints, and the public client for those of /v1. */
import { type ApiRequest, send as sendRequest } from "../../../clients/typescript/src/http.ts";
import {
  type Client,
  type ClientOptions,
  createClient,
} from "../../../clients/typescript/src/index.ts";
import { fetchOrUseEarly } from "./early-requests.ts";
import { saveFile } from "./save-file.ts";
import { type AccountScope, getBasePath } from "./scope.ts";

type Options = Partial<Pick<ApiRequest, "method" | "query" | "body" | "accept" | "signal">>;

const ONCE: ClientOptions = { baseUrl: location.origin, retriesMax: 0, fetch: fetchOrUseEarly };

/** Sends a request to this origin. Throws `ShorthopError`, or what `fetch` throws. */
export const send = (path: string, { method = "GET", ...rest }: Options = {}): Promise<Response> =>
  sendRequest(ONCE, { method, path, ...rest });

/** Sends a request and parses its JSON response, which the API has validated against its schema. */
export const getJson = async <ResponseBody>(
  path: string,
  options?: Options,
): Promise<ResponseBody> => (await (await send(path, options)).json()) as ResponseBody;

type Retries = Pick<ClientOptions, "retriesMax" | "retryDelayMaxMs">;

/**
 * For many requests in a row: waits for a session's request limit, which resets within a minute,
 * but not for the daily quota of links.
 */
export const PATIENT: Retries = { retriesMax: 5, retryDelayMaxMs: 90_000 };

/** Returns a client for the API of an account and mode, authenticated by the session cookie. */
export const getClient = (scope: AccountScope, retries: Retries = { retriesMax: 1 }): Client =>
  createClient({
    baseUrl: location.origin + getBasePath(scope),
    fetch: fetchOrUseEarly,
    ...retries,
  });

/** Downloads a path as a CSV file for spreadsheets. */
export async function downloadCsv(path: string, name: string): Promise<void> {
  const response = await send(path, { accept: "text/csv;bom=true" });
  saveFile(await response.blob(), name);
}
