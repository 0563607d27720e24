/** Sends requests, and retries those where a retry is safe and likely to succeed. */
import { readError, ShorthopError } from "./errors.ts";

/**
 * Options of a client.
 *
 * @example
 * createClient({ baseUrl: "https://api.example.com", apiKey, retriesMax: 0, timeoutMs: 5_000 });
 */
export type ClientOptions = {
  /** The origin of the API, e.g. `https://api.example.com`. */
  baseUrl: string;
  /** Leave out when a session cookie authenticates the requests. */
  apiKey?: string;
  /** Retries per request; 3 when left out, 0 for none. */
  retriesMax?: number;
  /**
   * The longest delay before a retry, 30 s when left out. A longer `Retry-After` fails the call at
   * once.
   */
  retryDelayMaxMs?: number;
  /** Timeout of a single attempt, 30 s when left out; of a stream, until it begins. */
  timeoutMs?: number;
  /** Replaces the global `fetch`: for tests, proxies or instrumentation. */
  fetch?: (url: URL | string, init?: RequestInit) => Promise<Response>;
};

export type ApiRequest = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | readonly string[] | undefined> | undefined;
  body?: unknown;
  /** Makes a request that creates something safe to retry. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** The `Accept` header, e.g. `text/csv`; left out for JSON. */
  accept?: string | undefined;
  /** Further headers; those that are undefined are left out. */
  headers?: Record<string, string | undefined>;
  /** Returns the response before its body has arrived. */
  stream?: boolean;
};

/** Delay before the first retry, before jitter; doubles with each retry. */
const BACKOFF_BASE_MS = 250;

const RETRYABLE_STATUSES = new Set([429, 502, 503, 504]);

/** Codes of a call without a response that a retry can help. */
const RETRYABLE_CODES = new Set(["network", "timeout"]);

/**
 * Sends a request, and retries it as the options allow. Returns a successful response, and rejects
 * with {@link ShorthopError} otherwise.
 */
export async function send(options: ClientOptions, request: ApiRequest): Promise<Response> {
  const { retriesMax = 3, retryDelayMaxMs = 30_000 } = options;
  for (let retries = 0; ; retries++) {
    try {
      return await attempt(options, request);
    } catch (error) {
      const delayMs = computeRetryDelayMs(error, retries);
      if (retries >= retriesMax || delayMs > retryDelayMaxMs) throw error;
      await delay(delayMs, request.signal);
    }
  }
}

async function attempt(options: ClientOptions, request: ApiRequest): Promise<Response> {
  const url = buildUrl(options.baseUrl, request);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(TIMED_OUT), options.timeoutMs ?? 30_000);
  const forward = () => stop.abort(request.signal?.reason);
  request.signal?.addEventListener("abort", forward);
  try {
    if (request.signal?.aborted === true) forward();
    const response = await (options.fetch ?? fetch)(url, {
      method: request.method,
      headers: buildHeaders(options.apiKey, request),
      signal: stop.signal,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    if (!response.ok) throw await readError(response);
    // Here, so that a body that breaks off or takes too long is a failed attempt as well.
    return request.stream === true
      ? response
      : new Response(await response.arrayBuffer(), response);
  } catch (error) {
    throw toError(error, stop.signal);
  } finally {
    clearTimeout(timer);
    if (request.stream !== true) request.signal?.removeEventListener("abort", forward);
  }
}

const TIMED_OUT = new Error("The API did not respond in time.");

/** Names what `fetch` rejects with, which differs between runtimes. */
function toError(error: unknown, signal: AbortSignal): ShorthopError {
  if (error instanceof ShorthopError) return error;
  if (signal.reason === TIMED_OUT) {
    return new ShorthopError(0, "timeout", TIMED_OUT.message, { cause: error });
  }
  if (signal.aborted) return abortedBy(signal.reason);
  const reason = error instanceof Error ? error.message : String(error);
  return new ShorthopError(0, "network", `The API cannot be reached: ${reason}`, { cause: error });
}

/** The error of a call that its own signal ended. */
export const abortedBy = (cause: unknown): ShorthopError =>
  new ShorthopError(0, "aborted", "The call was aborted.", { cause });

/** Waits, or rejects when the signal aborts. */
export const delay = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(abortedBy(signal?.reason));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });

function buildHeaders(apiKey: string | undefined, request: ApiRequest): Record<string, string> {
  const { body, accept, idempotencyKey, headers = {} } = request;
  return {
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(accept === undefined ? {} : { accept }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...Object.fromEntries(Object.entries(headers).filter(isPresent)),
  };
}

const isPresent = (entry: [string, string | undefined]): entry is [string, string] =>
  entry[1] !== undefined;

function buildUrl(baseUrl: string, { path, query = {} }: ApiRequest): URL {
  let end = baseUrl.length;
  while (baseUrl[end - 1] === "/") end--;
  const text = baseUrl.slice(0, end) + path;
  if (!URL.canParse(text)) {
    const message = `baseUrl must be an absolute URL, not ${JSON.stringify(baseUrl)}.`;
    throw new ShorthopError(0, "invalid_argument", message);
  }
  const url = new URL(text);
  for (const [name, value] of Object.entries(query)) {
    for (const item of typeof value === "object" ? value : [value]) {
      if (item !== undefined) url.searchParams.append(name, String(item));
    }
  }
  return url;
}

/**
 * A template of a path: encodes each id as one segment. Throws `invalid_argument` for an empty id,
 * and for `.` and `..`, which a URL would resolve to another path.
 */
export function path(strings: TemplateStringsArray, ...ids: readonly string[]): string {
  return strings.reduce((start, text, i) => start + encodeSegment(ids[i - 1] ?? "") + text);
}

function encodeSegment(id: string): string {
  if (typeof id !== "string" || id === "" || id === "." || id === "..") {
    const message = `An id must be a non-empty text, not ${JSON.stringify(id)}.`;
    throw new ShorthopError(0, "invalid_argument", message);
  }
  return encodeURIComponent(id);
}

/**
 * Returns the delay before the next retry, infinite when a retry cannot help. Honours
 * `Retry-After`; otherwise uses exponential backoff with jitter, so that clients that failed
 * together do not retry together.
 */
export function computeRetryDelayMs(error: unknown, retries: number): number {
  if (!(error instanceof ShorthopError) || !isRetryable(error)) return Number.POSITIVE_INFINITY;
  return error.retryAfterSeconds === undefined
    ? BACKOFF_BASE_MS * 2 ** retries * (0.5 + Math.random())
    : error.retryAfterSeconds * 1_000;
}

const isRetryable = ({ status, code }: ShorthopError): boolean =>
  RETRYABLE_STATUSES.has(status) ||
  code === "idempotency_in_progress" ||
  (status === 0 && RETRYABLE_CODES.has(code));

/** The most characters of a line of a stream; a click has some hundreds. */
const LINE_LENGTH_MAX = 1_000_000;

/**
 * Yields the lines of a body without their ends. Throws when one is too long, or when the last one
 * has no end.
 */
export async function* readLines(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      if (rest.length > LINE_LENGTH_MAX) throw new Error("A line is too long.");
    }
    if (rest !== "") throw new Error("The last line is not complete.");
  } finally {
    // Ends the connection when the iteration stops early.
    await reader.cancel().catch(() => undefined);
  }
}
