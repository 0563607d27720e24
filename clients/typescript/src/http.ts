/** Sends requests, and retries those where a retry is safe and likely to succeed. */

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
  /** The longest delay before a retry, 30 s when left out. A longer `Retry-After` fails the call at once. */
  retryDelayMaxMs?: number;
  /** Timeout of a single attempt, 30 s when left out. */
  timeoutMs?: number;
  /** Replaces the global `fetch`: for tests, proxies or instrumentation. */
  fetch?: typeof fetch;
};

/** One request to the API. */
export type ApiRequest = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | undefined> | undefined;
  body?: unknown;
  /** Makes a request that creates something safe to retry. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** The `Accept` header, e.g. `text/csv`; left out for JSON. */
  accept?: string | undefined;
};

/**
 * An error response of the API. `code` is stable and meant for programs, `message` is for people.
 *
 * @example
 * try {
 *   await shorthop.links.get(id);
 * } catch (error) {
 *   if (error instanceof ShorthopError && error.code === "not_found") return undefined;
 *   throw error;
 * }
 */
export class ShorthopError extends Error {
  override name = "ShorthopError";
  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** A stable code such as `alias_taken`; `unknown` when the response has none, e.g. one of a proxy. */
    readonly code: string,
    message: string,
    /** Seconds until a retry makes sense, when the response has `Retry-After`. */
    readonly retryAfterSeconds: number | undefined,
    /** `X-Request-Id`: quote it when you report a failure. */
    readonly requestId: string | undefined,
  ) {
    super(message);
  }
}

/** Delay before the first retry, before jitter; doubles with each retry. */
const BACKOFF_BASE_MS = 250;

const RETRYABLE_STATUSES = new Set([429, 502, 503, 504]);

/**
 * Creates the function that sends requests. It returns successful responses and rejects with {@link ShorthopError} or
 * what `fetch` rejects with, after the retries that the options allow.
 */
export function createSend(options: ClientOptions) {
  const { apiKey, retriesMax = 3, retryDelayMaxMs = 30_000, timeoutMs = 30_000 } = options;
  const fetchResponse = options.fetch ?? fetch;

  async function attempt(request: ApiRequest): Promise<Response> {
    const headers: Record<string, string> = {};
    if (apiKey !== undefined) headers["authorization"] = `Bearer ${apiKey}`;
    if (request.body !== undefined) headers["content-type"] = "application/json";
    if (request.accept !== undefined) headers["accept"] = request.accept;
    if (request.idempotencyKey !== undefined) headers["idempotency-key"] = request.idempotencyKey;
    const signals = [AbortSignal.timeout(timeoutMs), request.signal];
    const response = await fetchResponse(buildUrl(options.baseUrl, request), {
      method: request.method,
      headers,
      signal: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    if (!response.ok) throw await toError(response);
    return response;
  }

  return async (request: ApiRequest): Promise<Response> => {
    for (let retries = 0; ; retries++) {
      try {
        return await attempt(request);
      } catch (error) {
        const delayMs = computeRetryDelayMs(error, retries);
        if (request.signal?.aborted === true || retries >= retriesMax) throw error;
        if (delayMs > retryDelayMaxMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  };
}

function buildUrl(baseUrl: string, { path, query = {} }: ApiRequest): URL {
  let end = baseUrl.length;
  while (baseUrl[end - 1] === "/") end--;
  const url = new URL(baseUrl.slice(0, end) + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * Returns the delay before the next retry, infinite when a retry cannot help. Honours `Retry-After`; otherwise uses
 * exponential backoff with jitter, so that clients that failed together do not retry together.
 */
function computeRetryDelayMs(error: unknown, retries: number): number {
  const backoff = BACKOFF_BASE_MS * 2 ** retries * (0.5 + Math.random());
  // No response: the connection failed, or the attempt timed out.
  if (!(error instanceof ShorthopError)) return backoff;
  if (!RETRYABLE_STATUSES.has(error.status) && error.code !== "idempotency_in_progress") {
    return Number.POSITIVE_INFINITY;
  }
  return error.retryAfterSeconds === undefined ? backoff : error.retryAfterSeconds * 1_000;
}

async function toError(response: Response): Promise<ShorthopError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = getProperty(body, "error");
  const code = getProperty(error, "code");
  const message = getProperty(error, "message");
  const retryAfter = response.headers.get("retry-after");
  return new ShorthopError(
    response.status,
    typeof code === "string" ? code : "unknown",
    typeof message === "string" ? message : `The API responded with status ${response.status}.`,
    retryAfter === null ? undefined : Number(retryAfter),
    response.headers.get("x-request-id") ?? undefined,
  );
}

const getProperty = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
