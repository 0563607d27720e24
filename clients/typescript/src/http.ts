/** Sends requests, and sends them again where that is safe and likely to help. */

export type ClientOptions = {
  /** Where the API is, e.g. `https://api.example.com`. */
  baseUrl: string;
  /** Left out where a cookie says who is calling. */
  apiKey?: string;
  /** How often a request is tried again; 0 for never. */
  retriesMax?: number;
  /** The longest wait before another try; an answer that asks for a longer one is thrown. */
  waitMaxMs?: number;
  /** How long one try may take. */
  timeoutMs?: number;
  fetch?: typeof fetch;
};

export type Call = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | undefined> | undefined;
  body?: unknown;
  /** Sent with what creates something, so that it can be tried again. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** What the answer is wanted as, e.g. `text/csv`; JSON when left out. */
  accept?: string | undefined;
};

/** What the API answered when it did not do what it was asked for. */
export class ShorthopError extends Error {
  override name = "ShorthopError";
  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** A stable code such as `alias_taken`. */
    readonly code: string,
    message: string,
    /** Seconds after which to try again, where the API says so. */
    readonly retryAfterSeconds: number | undefined,
    /** What to quote when asking about a failure. */
    readonly requestId: string | undefined,
  ) {
    super(message);
  }
}

const BACKOFF_FIRST_MS = 250;

const RETRIED_STATUSES = new Set([429, 502, 503, 504]);

export function createSend(options: ClientOptions) {
  const { apiKey, retriesMax = 3, waitMaxMs = 30_000, timeoutMs = 30_000 } = options;
  const send = options.fetch ?? fetch;

  async function attempt(call: Call): Promise<Response> {
    const headers: Record<string, string> = {};
    if (apiKey !== undefined) headers["authorization"] = `Bearer ${apiKey}`;
    if (call.body !== undefined) headers["content-type"] = "application/json";
    if (call.accept !== undefined) headers["accept"] = call.accept;
    if (call.idempotencyKey !== undefined) headers["idempotency-key"] = call.idempotencyKey;
    const signals = [AbortSignal.timeout(timeoutMs), call.signal];
    const response = await send(urlOf(options.baseUrl, call), {
      method: call.method,
      headers,
      signal: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    if (!response.ok) throw await toError(response);
    return response;
  }

  /** Sends a request; throws {@link ShorthopError}, or what `fetch` throws. */
  return async (call: Call): Promise<Response> => {
    for (let tries = 0; ; tries++) {
      try {
        return await attempt(call);
      } catch (error) {
        const wait = waitBefore(error, tries);
        if (call.signal?.aborted === true || tries >= retriesMax || wait > waitMaxMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  };
}

function urlOf(baseUrl: string, { path, query = {} }: Call): URL {
  const url = new URL(baseUrl.replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * Milliseconds to wait before another try; infinite when it would not help. As long as the API asks
 * for, else longer and longer, at random, so that clients that failed together do not return together.
 */
function waitBefore(error: unknown, tries: number): number {
  const backoff = BACKOFF_FIRST_MS * 2 ** tries * (0.5 + Math.random());
  // Not an answer at all: the connection failed, or time ran out.
  if (!(error instanceof ShorthopError)) return backoff;
  if (!RETRIED_STATUSES.has(error.status) && error.code !== "idempotency_in_progress") {
    return Number.POSITIVE_INFINITY;
  }
  return error.retryAfterSeconds === undefined ? backoff : error.retryAfterSeconds * 1_000;
}

async function toError(response: Response): Promise<ShorthopError> {
  const body: unknown = await response.json().catch(() => undefined);
  const problem = memberOf(body, "error");
  const code = memberOf(problem, "code");
  const message = memberOf(problem, "message");
  const retryAfter = response.headers.get("retry-after");
  return new ShorthopError(
    response.status,
    typeof code === "string" ? code : "unknown",
    typeof message === "string" ? message : `The API answered ${response.status}.`,
    retryAfter === null ? undefined : Number(retryAfter),
    response.headers.get("x-request-id") ?? undefined,
  );
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
