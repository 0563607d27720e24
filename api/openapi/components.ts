/**
 * Components that all operations of the OpenAPI document share: headers, and one response for each
 * status of errors.
 */
import type {
  ZodOpenApiComponentsObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from "zod-openapi";

import { errorResponse } from "../http/common-schemas.ts";
import { ERROR_CODES, type ErrorCode, ERRORS, statusOf } from "../http/errors.ts";

const count = {
  type: "integer" as const,
  format: "int64",
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
};

const text = { type: "string" as const };

const header = (description: string, schema: typeof count | typeof text, example: unknown) => ({
  description,
  schema: { ...schema, examples: [example] },
});

const HEADERS = {
  "X-Request-Id": header(
    "Identifies the request in the service's logs. If the client sends one, it is used.",
    text,
    "0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10",
  ),
  "X-RateLimit-Limit": header("Maximum number of requests in the window.", count, 60),
  "X-RateLimit-Remaining": header("Requests left in the window.", count, 59),
  "X-RateLimit-Reset": header("When the window ends, in Unix seconds.", count, 1_782_907_260),
  "X-RateLimit-Policy": header("The window as `<limit>;w=<seconds>`.", text, "60;w=60"),
  RateLimit: header(
    "The window as in the IETF's draft: its name, requests left, seconds to its end.",
    text,
    '"minute";r=59;t=42',
  ),
  "RateLimit-Policy": header(
    "The window's name, limit and length, as in the IETF's draft.",
    text,
    '"minute";q=60;w=60',
  ),
};

const RETRY_AFTER = header("Whole seconds to wait before the request is sent again.", count, 42);

/** References to the headers of every response. */
export const headerRefs = Object.fromEntries(
  Object.keys(HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` as const }]),
);

export const components: ZodOpenApiComponentsObject = {
  headers: { ...HEADERS, "Retry-After": RETRY_AFTER },
  securitySchemes: {
    apiKey: {
      type: "http",
      scheme: "bearer",
      description: "An API key: `sk_live_…` for real data, `sk_test_…` for development.",
    },
  },
};

/** Names of the components, by status. */
const NAMES: Readonly<Record<string, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  412: "PreconditionFailed",
  413: "PayloadTooLarge",
  415: "UnsupportedMediaType",
  429: "TooManyRequests",
  500: "InternalServerError",
  503: "ServiceUnavailable",
};

/** Statuses after which a client may retry; the response says when. */
const RETRYABLE = new Set(["409", "429", "503"]);

const nameOf = (status: string): string => NAMES[status] ?? `Status${status}`;

/** The API's error messages, for examples; other codes use their description. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_request: "url is required.",
  invalid_url: "The URL must be an http or https URL.",
  invalid_alias:
    "An alias has 1 to 64 letters, digits, emoji and characters of -._~, in segments separated by /. It does not start with -, and no segment ends with a dot.",
  alias_taken: 'The alias "summer-sale" is already in use.',
  unauthorized: "The API key is missing or invalid.",
  forbidden: "The API key lacks the scope links:write.",
  key_revoked: "The API key has been revoked.",
  quota_exceeded: "The account has reached its maximum of 10 domains.",
  not_found: "The link does not exist.",
  method_not_allowed: "This resource takes GET, POST.",
  idempotency_conflict: "The Idempotency-Key was used with a different request.",
  idempotency_in_progress: "The first request with this Idempotency-Key is still in progress.",
  domain_taken: "The domain has been verified by another account.",
  tag_taken: 'The tag "spring" exists already. Send "merge": true to merge the two.',
  domain_in_use: "The domain still has links.",
  aliases_collide: "These aliases differ only in case: Sale, sale.",
  link_taken_down: "An operator has taken the link down. It can be neither deleted nor renamed.",
  conflict: "Another request has rotated this key.",
  precondition_failed: "The link has changed since you read it.",
  payload_too_large: "The body may have 1048576 bytes at most.",
  unsupported_media_type: "Send the body as Content-Type: application/json.",
  rate_limited: "Rate limit exceeded: 60 requests in 60 seconds. Try again in 42 seconds.",
  internal: "Something went wrong on our side.",
  unavailable: "The service is temporarily unavailable. Try again shortly.",
};

/** Further members of a code's example, besides code and message. */
const MEMBERS: Readonly<Record<string, object>> = {
  invalid_request: {
    param: "url",
    details: [{ param: "url", message: "url is required." }],
  },
  invalid_url: { param: "url" },
  invalid_alias: { param: "alias" },
  alias_taken: { param: "alias" },
  tag_taken: { param: "name" },
  rate_limited: { retry_after: 42 },
};

const exampleOf = (code: ErrorCode) => ({
  summary: ERRORS[code][1],
  value: {
    error: {
      code,
      message: MESSAGES[code] ?? ERRORS[code][1],
      ...MEMBERS[code],
      doc_url: `https://api.example.com/docs/errors#${code}`,
    },
  },
});

const describeStatus = (status: string, codes: readonly ErrorCode[]): ZodOpenApiResponseObject => ({
  description: describeCodes(codes),
  headers: RETRYABLE.has(status)
    ? { ...headerRefs, "Retry-After": { $ref: "#/components/headers/Retry-After" } }
    : headerRefs,
  content: {
    "application/json": {
      schema: errorResponse,
      examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
    },
  },
});

/** One line for each code: when it occurs. */
const describeCodes = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join("\n\n");

/** The components for all statuses of errors that an operation can return. */
export const errorResponseComponents = (): Record<string, ZodOpenApiResponseObject> => {
  // 405 is never returned by an existing operation.
  const codes = ERROR_CODES.filter((code) => code !== "method_not_allowed");
  return Object.fromEntries(
    [...Map.groupBy(codes, (code) => String(statusOf(code)))].map(([status, group]) => [
      nameOf(status),
      describeStatus(status, group),
    ]),
  );
};

/** References to the components for the statuses of `codes`, described by those codes only. */
export function referErrors(codes: readonly ErrorCode[]): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(new Set(codes), (code) => String(statusOf(code)));
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { $ref: `#/components/responses/${nameOf(status)}`, description: describeCodes(group) },
    ]),
  );
}
