/** The one error of the client. */
import type { KnownErrorCode } from "./schema.ts";

/**
 * What went wrong, for programs: a code of the API, or one of the client's own for a call that got
 * no response.
 *
 * - `network`: no connection, or it broke. `timeout`: no response in `timeoutMs`. `aborted`: by
 *   your `signal`.
 * - `invalid_argument`: the client refused to send the request, such as one with an empty id.
 * - `unknown`: an error response without a code, e.g. of a proxy. A newer API may return further
 *   codes.
 *
 * @example
 * const isTransient = (code: ErrorCode) => code === "network" || code === "timeout";
 */
export type ErrorCode =
  | KnownErrorCode
  | "network"
  | "timeout"
  | "aborted"
  | "invalid_argument"
  | "unknown"
  // Keeps the known codes in the suggestions of editors.
  | (string & {});

/** One of several problems of a request: the field or parameter, and what it must be. */
export type ErrorDetail = { param: string; message: string };

/**
 * The result so far of a call for many that stopped midway: `data` has an entry for each of the
 * first entries of the list, in their order.
 *
 * @example
 * const isMade = ({ data }: Progress, index: number) => index < data.length;
 */
export type Progress = { data: readonly { index: number }[] } & {
  [count in "created" | "updated" | "deleted" | "valid" | "failed"]?: number;
};

/** The parts of an error that only some errors have. */
export type ErrorOptions = {
  retryAfterSeconds?: number | undefined;
  requestId?: string | undefined;
  param?: string | undefined;
  details?: readonly ErrorDetail[] | undefined;
  docUrl?: string | undefined;
  done?: Progress | undefined;
  idempotencyKey?: string | undefined;
  cause?: unknown;
};

/**
 * Why a call failed. Every function of the client rejects with this error and no other.
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
  /** Seconds until a retry makes sense, when the response says so. */
  readonly retryAfterSeconds: number | undefined;
  /** `X-Request-Id`: quote it when you report a failure. */
  readonly requestId: string | undefined;
  /** The field or query parameter at fault. */
  readonly param: string | undefined;
  /** Every problem of the request that the API found. */
  readonly details: readonly ErrorDetail[] | undefined;
  /** A page that explains the code. */
  readonly docUrl: string | undefined;
  /** What a call for many had done before one of its requests failed. */
  readonly done: Progress | undefined;
  /**
   * Call `createMany` again with this key and the same links to go on: what was made is not made
   * again.
   */
  readonly idempotencyKey: string | undefined;

  constructor(
    /** The HTTP status; 0 when there was no response. */
    readonly status: number,
    /** A stable code such as `alias_taken`. */
    readonly code: ErrorCode,
    message: string,
    { cause, ...options }: ErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.requestId = options.requestId;
    this.param = options.param;
    this.details = options.details;
    this.docUrl = options.docUrl;
    this.done = options.done;
    // A program that ends by the error prints it: its message, not every link that was made.
    Object.defineProperty(this, "done", { enumerable: false });
    this.idempotencyKey = options.idempotencyKey;
  }
}

/** The error of a call for `total` entries of which one request failed, after others had not. */
export function stopMidway(
  error: ShorthopError,
  done: Progress,
  total: number,
  idempotencyKey: string | undefined,
): ShorthopError {
  const next =
    idempotencyKey === undefined
      ? `go on with those from index ${done.data.length}`
      : "go on with all of them and the error's `idempotencyKey`";
  const message = `${error.message} ${done.data.length} of ${total} are done (\`done\`): ${next}.`;
  return new ShorthopError(error.status, error.code, message, {
    retryAfterSeconds: error.retryAfterSeconds,
    requestId: error.requestId,
    param: error.param,
    details: error.details,
    docUrl: error.docUrl,
    cause: error.cause,
    done,
    idempotencyKey,
  });
}

/** Reads the error of a response; one that is no error of the API has the code `unknown`. */
export async function readError(response: Response): Promise<ShorthopError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = getProperty(body, "error");
  return new ShorthopError(
    response.status,
    getText(error, "code") ?? "unknown",
    getText(error, "message") ?? `The API responded with status ${response.status}.`,
    {
      retryAfterSeconds: parseRetryAfter(response.headers.get("retry-after"), Date.now()),
      requestId: response.headers.get("x-request-id") ?? undefined,
      param: getText(error, "param"),
      details: getDetails(error),
      docUrl: getText(error, "doc_url"),
    },
  );
}

/**
 * Parses `Retry-After`, which has seconds or a date (RFC 9110 §10.2.3), into seconds from `now`
 * (Unix milliseconds). Undefined for anything else.
 */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value);
  // A date of HTTP begins with a day; the parser takes many other texts for a date.
  const date = /^\s*[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1_000));
}

const getProperty = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

function getText(value: unknown, name: string): string | undefined {
  const property = getProperty(value, name);
  return typeof property === "string" ? property : undefined;
}

function getDetails(error: unknown): ErrorDetail[] | undefined {
  const details = getProperty(error, "details");
  if (!Array.isArray(details)) return undefined;
  return details.map((detail: unknown) => ({
    param: getText(detail, "param") ?? "",
    message: getText(detail, "message") ?? "",
  }));
}
