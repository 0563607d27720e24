/**
 * Requests to the dashboard's own endpoints, and the public client for those of /v1. The first ones
 * use the responses to the requests of `startup.ts`.
 */
import { type ApiRequest, send as sendRequest } from "../../../clients/typescript/src/http.ts";
import {
  type Client,
  type ClientOptions,
  createClient,
} from "../../../clients/typescript/src/index.ts";
import { type AccountScope, getBasePath } from "./scope.ts";

/** Sends a request to this origin. Throws `ShorthopError`, or what `fetch` throws. */
export const send = (path: string, request: Partial<ApiRequest> = {}): Promise<Response> =>
  sendRequest(
    { baseUrl: location.origin, retriesMax: 0, fetch: fetchOrUseEarly },
    { method: "GET", path, ...request },
  );

/** Sends a request and parses its JSON response, which the API has validated against its schema. */
export const getJson = async <ResponseBody>(
  path: string,
  request?: Partial<ApiRequest>,
): Promise<ResponseBody> => (await (await send(path, request)).json()) as ResponseBody;

/** Posts a body, and parses the JSON of the response; undefined for a response without content. */
export async function post<ResponseBody = void>(
  path: string,
  body?: object,
): Promise<ResponseBody> {
  const text = await (await send(path, { method: "POST", body })).text();
  // The API has validated it against its schema.
  return (text === "" ? undefined : JSON.parse(text)) as ResponseBody;
}

/**
 * For many requests in a row: waits for a session's request limit, which resets within a minute,
 * but not for the daily quota of links.
 */
export const PATIENT: Partial<ClientOptions> = { retriesMax: 5, retryDelayMaxMs: 90_000 };

/** Returns a client for the API of an account and mode, authenticated by the session cookie. */
export const getClient = (
  scope: AccountScope,
  retries: Partial<ClientOptions> = { retriesMax: 1 },
): Client =>
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

/** Saves content as a file through the browser's download. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Responses to the requests of `startup.ts`, for the application's first requests. */
declare global {
  /** By path and query; undefined where there is no build, as in development. */
  // A `let` would not be a property of the global object.
  var earlyResponses: Map<string, { response: Promise<Response>; at: number }> | undefined;
}

/** A response that has not been used since is out of date. */
const AGE_MAX_MS = 15_000;

/** Drops the responses: they belong to the session of their time. */
export const forgetEarlyResponses = (): void => globalThis.earlyResponses?.clear();

/** `fetch` of the application, which uses the response of an early request, each once. */
export const fetchOrUseEarly = (input: RequestInfo | URL, init?: RequestInit): Promise<Response> =>
  takeEarly(input, init) ?? fetch(input, init);

function takeEarly(input: RequestInfo | URL, init?: RequestInit): Promise<Response> | undefined {
  if (!(input instanceof URL) || init?.method !== "GET") return undefined;
  const path = input.pathname + input.search;
  const early = globalThis.earlyResponses?.get(path);
  globalThis.earlyResponses?.delete(path);
  return early !== undefined && performance.now() - early.at < AGE_MAX_MS
    ? early.response
    : undefined;
}
