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
export const fetchOrUseEarly: typeof fetch = (input, init) =>
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
