/** The API's errors: a table of codes, the envelope, and the class to throw. */

/** Every error code of /v1 with its status. `docs/errors.md` explains each. */
const ERROR_STATUS = {
  invalid_request: 400,
  invalid_url: 400,
  invalid_alias: 400,
  alias_taken: 400,
  unauthorized: 401,
  forbidden: 403,
  key_revoked: 403,
  quota_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  idempotency_in_progress: 409,
  domain_taken: 409,
  domain_in_use: 409,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

// Object.keys does not know that the table has no further keys.
export const ERROR_CODES = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]];

/** The status that goes with a code. */
export const statusOf = (code: ErrorCode): number => ERROR_STATUS[code];

export type ErrorEnvelope = {
  error: { code: ErrorCode; message: string; retry_after?: number };
};

type ApiErrorOptions = {
  /** Whole seconds after which the client may retry. */
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  cause?: unknown;
};

/** An error for the client: its message goes into the response, its cause only into the log. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(
    readonly reason: ErrorCode,
    message: string,
    private readonly options: ApiErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = ERROR_STATUS[reason];
    const wait = options.retryAfterSeconds;
    this.headers = {
      ...(wait === undefined ? {} : { "retry-after": String(wait) }),
      ...options.headers,
    };
  }

  /** The response body. Only a 429 has `retry_after` in its body, as specified. */
  get envelope(): ErrorEnvelope {
    const wait = this.reason === "rate_limited" ? this.options.retryAfterSeconds : undefined;
    return {
      error: {
        code: this.reason,
        message: this.message,
        ...(wait === undefined ? {} : { retry_after: wait }),
      },
    };
  }
}

/** The 404 for what does not exist, and for what this caller must not know of. */
export const notFound = (what: string): ApiError =>
  new ApiError("not_found", `The ${what} does not exist.`);

/** A dependency is unavailable; which one does not matter to the client, who can only retry. */
export const unavailable = (cause?: unknown): ApiError =>
  new ApiError("unavailable", "The service is temporarily unavailable. Try again shortly.", {
    retryAfterSeconds: 2,
    cause,
  });
