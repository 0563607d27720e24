/** Describes routes as OpenAPI operations, entirely from their declarations. */
import * as z from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiResponsesObject } from "zod-openapi";

import { type ErrorCode, statusOf } from "../http/errors.ts";
import { errorResponse, headerRefs } from "./components.ts";
import { NON_JSON_RESPONSES } from "./non-json-responses.ts";

const schema = z.instanceof(z.ZodType).optional();
const object = z.instanceof(z.ZodObject).optional();

/** The part of an Elysia route that the generator reads. */
export const routeSchema = z.object({
  method: z.string(),
  path: z.string(),
  hooks: z.object({
    body: schema,
    query: object,
    params: object,
    response: z.record(z.string(), z.instanceof(z.ZodType)).optional(),
    detail: z.object({
      operationId: z.string().optional(),
      summary: z.string().optional(),
      description: z.string().optional(),
      tags: z.array(z.string()).optional(),
      hide: z.boolean().optional(),
      security: z.array(z.record(z.string(), z.array(z.string()))),
      // Elysia's merging of details sometimes turns an array into an object.
      "x-errors": z.custom<readonly ErrorCode[]>().optional(),
      "x-idempotent": z.boolean().optional(),
      "x-csv": z.boolean().optional(),
    }),
  }),
});

export type Route = z.output<typeof routeSchema>;

const idempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({
    description:
      "Makes the request safe to retry: for 24 hours, the same key with the same body returns the first response.",
    examples: ["5f0c1d1e-3c1b-4c0e-9d53-1f4f8f0f6f0a"],
  });

export function describeOperation({ path, hooks }: Route): ZodOpenApiOperationObject {
  const { body, query, params, detail } = hooks;
  const { operationId, summary, description, tags, security } = detail;
  const idempotent = detail["x-idempotent"] === true;
  return {
    ...(operationId === undefined ? {} : { operationId }),
    ...(summary === undefined ? {} : { summary }),
    ...(tags === undefined ? {} : { tags }),
    description: [description, describeScope(security)].filter(Boolean).join("\n\n"),
    security,
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...(idempotent ? { header: z.object({ "Idempotency-Key": idempotencyKey }) } : {}),
    },
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: { ...describeSuccesses(path, hooks), ...describeErrors(listErrorCodes(hooks)) },
  };
}

function describeScope(security: Route["hooks"]["detail"]["security"]): string {
  const [scope] = security[0]?.["apiKey"] ?? [];
  return scope === undefined ? "" : `Requires the scope \`${scope}\`.`;
}

const TEXT = { schema: { type: "string" as const } };

function describeSuccesses(
  path: string,
  { response, detail }: Route["hooks"],
): ZodOpenApiResponsesObject {
  const nonJson = NON_JSON_RESPONSES[path];
  if (nonJson !== undefined) return { "200": { ...nonJson, headers: headerRefs } };
  return Object.fromEntries(
    Object.entries(response ?? {}).map(([status, body]) => [
      status,
      {
        description: status === "201" ? "Created" : "OK",
        headers: headerRefs,
        content: {
          "application/json": { schema: body },
          ...(detail["x-csv"] === true ? { "text/csv": TEXT } : {}),
        },
      },
    ]),
  );
}

/** All error codes that a route can return. */
function listErrorCodes({ body, query, params, detail }: Route["hooks"]): ErrorCode[] {
  const codes: ErrorCode[] = ["rate_limited", "internal", "unavailable"];
  const [rule] = detail.security;
  if (rule !== undefined) codes.push("unauthorized", "key_revoked");
  if ((rule?.["apiKey"]?.length ?? 0) > 0) codes.push("forbidden");
  if (params !== undefined) codes.push("not_found");
  if (body !== undefined) codes.push("payload_too_large", "unsupported_media_type");
  if (body !== undefined || query !== undefined) codes.push("invalid_request");
  if (detail["x-idempotent"] === true)
    codes.push("idempotency_conflict", "idempotency_in_progress");
  return [...codes, ...Object.values(detail["x-errors"] ?? [])];
}

function describeErrors(codes: readonly ErrorCode[]): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(codes, (code) => String(statusOf(code)));
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: [...new Set(group)].map((code) => `\`${code}\``).join(", "),
        headers: headerRefs,
        content: { "application/json": { schema: errorResponse } },
      },
    ]),
  );
}
