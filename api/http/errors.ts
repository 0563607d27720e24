/**
 * The API's errors: a table of codes, the envelope, the class to throw, and the checks of a request
 * that fail as one error.
 */
import { invalidValue } from "../../shared/contracts/errors.ts";

/**
 * Every error code of /v1 with its status, and when it occurs. `docs/errors.md` has the same table.
 */
export const ERRORS = {
  invalid_request: [
    400,
    "A field or parameter is missing, unknown or not allowed; `param` names it.",
  ],
  invalid_url: [400, "The destination is not an absolute http(s) URL, or is not allowed."],
  invalid_alias: [400, "The alias has invalid characters or an invalid length, or is reserved."],
  alias_taken: [400, "The alias is in use on its domain."],
  unauthorized: [
    401,
    "The key is missing, malformed, unknown or expired; or shared statistics need their password.",
  ],
  forbidden: [403, "The key lacks the scope; or the password of shared statistics is wrong."],
  key_revoked: [403, "The key has been revoked."],
  quota_exceeded: [403, "The account has reached a quota; the message names it."],
  not_found: [404, "It does not exist, or belongs to another account or the other mode."],
  method_not_allowed: [405, "The path does not support the method; see the `Allow` header."],
  idempotency_conflict: [409, "The `Idempotency-Key` was used with a different request."],
  idempotency_in_progress: [
    409,
    "The first request with this `Idempotency-Key` is still in progress.",
  ],
  external_id_taken: [409, "Another link of the account and mode has this `external_id`."],
  domain_taken: [409, "The domain is already verified, or already added by the account."],
  domain_in_use: [409, "The domain still has links."],
  tag_taken: [409, "Another tag of the account and mode has this name."],
  aliases_collide: [409, "Aliases of the domain differ only in case; the message names some."],
  link_taken_down: [409, "An operator has taken the link down: it keeps its alias."],
  conflict: [409, "A concurrent request changed the same resource."],
  cursor_expired: [410, "Events after the cursor have been deleted."],
  precondition_failed: [412, "The link is no longer at the version in `If-Match`."],
  payload_too_large: [413, "The body is larger than 1 MiB."],
  unsupported_media_type: [415, "The body is not declared as JSON in UTF-8."],
  rate_limited: [429, "A rate limit or a daily quota is exhausted; see `Retry-After`."],
  internal: [500, "A bug of ours; report it with the `X-Request-Id`."],
  unavailable: [503, "A store is unreachable, or a queue is full; see `Retry-After`."],
} as const;

export type ErrorCode = keyof typeof ERRORS;

// Object.keys loses the type of the keys; the table has no others.
export const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

/** The status that goes with a code. */
export const statusOf = (code: ErrorCode): number => ERRORS[code][0];

/**
 * One of several problems of a request: the field or parameter, and a description of valid values.
 */
export type ErrorDetail = { param: string; message: string };

export type ErrorEnvelope = {
  error: {
    code: ErrorCode;
    message: string;
    retry_after?: number;
    param?: string;
    details?: readonly ErrorDetail[];
    doc_url?: string;
  };
};

/** An error for the client: its message goes into the response, its cause only into the log. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly reason: ErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly param: string | undefined;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly #retryAfterSeconds: number | undefined;

  /**
   * `param` is the field or query parameter that caused the error, with dots for fields of fields;
   * `details` are all problems, when there may be several. A client may retry after
   * `retryAfterSeconds`, which are whole.
   */
  constructor(
    reason: ErrorCode,
    message: string,
    {
      param,
      details,
      retryAfterSeconds,
      headers,
      cause,
    }: {
      param?: string | undefined;
      details?: readonly ErrorDetail[] | undefined;
      retryAfterSeconds?: number;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.status = ERRORS[reason][0];
    this.param = param;
    this.details = details;
    this.#retryAfterSeconds = retryAfterSeconds;
    this.headers = {
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
      ...headers,
    };
  }

  /** The response body. Only a 429 has `retry_after` in its body, as specified. */
  get envelope(): ErrorEnvelope {
    const wait = this.reason === "rate_limited" ? this.#retryAfterSeconds : undefined;
    return {
      error: {
        code: this.reason,
        message: this.message,
        ...(wait === undefined ? {} : { retry_after: wait }),
        ...(this.param === undefined ? {} : { param: this.param }),
        ...(this.details === undefined ? {} : { details: this.details }),
      },
    };
  }
}

/**
 * An error for a field or parameter with an invalid value; `problem` follows "Invalid value for
 * …:".
 */
export function invalidField(param: string, problem: string): ApiError {
  const message = invalidValue(param, problem);
  return new ApiError("invalid_request", message, { param, details: [{ param, message }] });
}

/** The 404 for a resource that does not exist or that this caller may not know of. */
export const notFound = (what: string): ApiError =>
  new ApiError("not_found", `The ${what} does not exist.`);

/**
 * A dependency is unavailable. The response does not name it, because the client can only retry.
 */
export const unavailable = (cause?: unknown): ApiError =>
  new ApiError("unavailable", "The service is temporarily unavailable. Try again shortly.", {
    retryAfterSeconds: 2,
    cause,
  });

/** Maximum problems of one request that an error lists. */
export const DETAILS_MAX = 20;

/** Maximum characters of a client's name of a field or parameter that a message repeats. */
const NAME_LENGTH_MAX = 100;

/** Shortens a client's name of a field or parameter for a message. */
export const shorten = (name: string): string =>
  name.length <= NAME_LENGTH_MAX ? name : `${name.slice(0, NAME_LENGTH_MAX).toWellFormed()}…`;

/** Checks of one request that do not depend on each other, by what they result in. */
type Checks<Results extends readonly unknown[]> = {
  [Index in keyof Results]: () => Results[Index] | Promise<Results[Index]>;
};

/**
 * Runs checks concurrently and returns their results. If some reject the request, throws the first
 * error, with the problems of all of them as details. Any error that is not the client's fault is
 * rethrown unchanged.
 */
export async function checkAll<Results extends readonly unknown[]>(
  checks: readonly [...Checks<Results>],
): Promise<Results> {
  const settled = await Promise.allSettled(checks.map(async (check) => await check()));
  const rejections: ApiError[] = [];
  const results: unknown[] = [];
  for (const each of settled) {
    if (each.status === "fulfilled") results.push(each.value);
    else if (each.reason instanceof ApiError && each.reason.status < 500)
      rejections.push(each.reason);
    else throw each.reason;
  }
  const [first, ...others] = rejections;
  // One result for each check, in their order.
  if (first === undefined) return results as unknown as Results;
  if (others.length === 0) throw first;
  const details = rejections.flatMap(toDetails).slice(0, DETAILS_MAX);
  throw new ApiError(first.reason, first.message, { param: first.param, details });
}

const toDetails = ({ param, message, details }: ApiError): readonly ErrorDetail[] =>
  details ?? (param === undefined ? [] : [{ param, message }]);
