/** The responses for errors: one component for each status, which operations share. */
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";

import { errorResponse } from "../http/error-schemas.ts";
import { ERROR_CODES, type ErrorCode, ERRORS, statusOf } from "../http/errors.ts";
import { headerRefs } from "./components.ts";
import { MEMBERS, MESSAGES } from "./error-examples.ts";

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
