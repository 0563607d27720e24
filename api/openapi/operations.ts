/** Describes routes as OpenAPI operations, entirely from their declarations. */
import * as z from "zod";
import type {
  ZodOpenApiMediaTypeObject,
  ZodOpenApiOperationObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from "zod-openapi";

import { component } from "../../shared/contracts/components.ts";
import { clickFields, country } from "../analytics/responses.ts";
import { choice, instant, text } from "../http/common-schemas.ts";
import type { ErrorCode } from "../http/errors.ts";
import { headerRefs, referErrors } from "./components.ts";

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
      "x-conditional": z.enum(["read", "write"]).optional(),
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

const ETAG = { examples: ['"7"'], maxLength: 256 };

/** The headers of conditional requests, by kind. */
const CONDITIONS = {
  read: z.object({
    "If-None-Match": z
      .string()
      .optional()
      .meta({
        description: "The `ETag` of a response that you have: 304 if it is the same.",
        ...ETAG,
      }),
  }),
  write: z.object({
    "If-Match": z
      .string()
      .optional()
      .meta({
        description: "The `ETag` of the version that you have read: 412 if it has changed.",
        ...ETAG,
      }),
  }),
};

/** Describes a route: its parameters, its body, and all of its responses. */
export function describeOperation(route: Route): ZodOpenApiOperationObject {
  const { path, hooks } = route;
  const { body, query, params, detail } = hooks;
  const { operationId, summary, description, tags, security } = detail;
  const idempotent = detail["x-idempotent"] === true;
  const conditional = detail["x-conditional"];
  const header = describeHeaders(path, idempotent, conditional);
  return {
    ...(operationId === undefined ? {} : { operationId }),
    ...(summary === undefined ? {} : { summary }),
    ...(tags === undefined ? {} : { tags }),
    description: [description, describeScope(security)].filter(Boolean).join("\n\n"),
    // The description contains the scope: tools expect OAuth scopes here.
    security: security.map(() => ({ apiKey: [] })),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...(header === undefined ? {} : { header }),
    },
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": describeBody(body) } } }),
    responses: { ...describeSuccesses(path, hooks), ...referErrors(listErrorCodes(route)) },
  };
}

/** A body, with the complete example of its schema, which the page at `/docs` sends unchanged. */
function describeBody(schema: z.ZodType): ZodOpenApiMediaTypeObject {
  const [example] = z.globalRegistry.get(schema)?.examples ?? [];
  return example === undefined ? { schema } : { schema, example };
}

/** The headers that an operation reads. */
function describeHeaders(
  path: string,
  idempotent: boolean,
  conditional: keyof typeof CONDITIONS | undefined,
): z.ZodObject | undefined {
  if (idempotent) return z.object({ "Idempotency-Key": idempotencyKey });
  return conditional === undefined ? EXTRA_HEADERS[path] : CONDITIONS[conditional];
}

function describeScope(security: Route["hooks"]["detail"]["security"]): string {
  const [scope] = security[0]?.["apiKey"] ?? [];
  return scope === undefined ? "" : `Requires the scope \`${scope}\`.`;
}

const CSV = {
  schema: {
    type: "string" as const,
    description: "A header line and a line for each entry, for clients that prefer `text/csv`.",
    examples: ["date,clicks,unique\r\n2026-03-02,214,187\r\n"],
  },
};

function describeSuccesses(
  path: string,
  { response, detail }: Route["hooks"],
): ZodOpenApiResponsesObject {
  const nonJson = NON_JSON_RESPONSES[path];
  if (nonJson !== undefined) return { "200": { ...nonJson, headers: headerRefs } };
  const notModified =
    detail["x-conditional"] === "read"
      ? { "304": { description: "Not modified: see `If-None-Match`", headers: headerRefs } }
      : {};
  const successes = Object.fromEntries(
    Object.entries(response ?? {}).map(([status, body]) => [
      status,
      {
        description: status === "201" ? "Created" : "OK",
        headers: headerRefs,
        content: {
          "application/json": { schema: body },
          ...(detail["x-csv"] === true ? { "text/csv": CSV } : {}),
        },
      },
    ]),
  );
  return { ...successes, ...notModified };
}

function listErrorCodes({ method, hooks: { body, query, params, detail } }: Route): ErrorCode[] {
  const codes: ErrorCode[] = ["invalid_request", "rate_limited", "internal", "unavailable"];
  const [rule] = detail.security;
  if (rule !== undefined) codes.push("unauthorized", "key_revoked");
  if ((rule?.["apiKey"]?.length ?? 0) > 0) codes.push("forbidden");
  // PUT creates a missing resource.
  const namesResource = params !== undefined && method !== "PUT";
  if (namesResource || query?.shape["link_id"] !== undefined) codes.push("not_found");
  if (body !== undefined) codes.push("payload_too_large", "unsupported_media_type");
  if (detail["x-conditional"] === "write") codes.push("precondition_failed");
  if (detail["x-idempotent"] === true)
    codes.push("idempotency_conflict", "idempotency_in_progress");
  return [...codes, ...Object.values(detail["x-errors"] ?? [])];
}

const binary = (contentMediaType: string) => ({
  schema: { type: "string" as const, contentMediaType },
});

/**
 * The JSON in an event's `data`. OpenAPI 3.1 cannot describe the events of a stream, so an
 * extension contains the schema.
 */
export const clickEvent = component(
  "ClickEvent",
  "A click, as the stream sends it in `data` of an event.",
  {
    time: instant("When the redirect was sent.", "2026-03-02T09:15:07.318Z"),
    class: choice("`human`, `bot` or `prefetch`.", ["human", "bot", "prefetch"]),
    country,
    region: text("The region's code; empty when it is unknown.", "DE-BE"),
    city: text("The city's name; empty when it is unknown.", "Berlin"),
    browser: clickFields.browser,
    os: clickFields.os,
    device: choice("`desktop`, `mobile`, `tablet` or `other`.", [
      "mobile",
      "desktop",
      "tablet",
      "other",
    ]),
    referrer: clickFields.referrer.meta({ examples: ["google"] }),
  },
);

const EXAMPLE_EVENT = `id: 1772442907318.0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3
event: click
data: {"time":"2026-03-02T09:15:07.318Z","class":"human","country":"DE","region":"DE-BE","city":"Berlin","browser":"Safari","os":"iOS","device":"mobile","referrer":"google"}

`;

/** By the path of the route. */
const NON_JSON_RESPONSES: Readonly<Record<string, ZodOpenApiResponseObject>> = {
  "/v1/links/:id/qr": {
    description: "The image in the requested format",
    content: {
      "image/svg+xml": binary("image/svg+xml"),
      "image/png": binary("image/png"),
      "application/pdf": binary("application/pdf"),
    },
  },
  "/v1/clicks/export": {
    description: "One `ListedClick` as JSON in each line",
    content: {
      "application/x-ndjson": {
        schema: {
          type: "string" as const,
          "x-line": { $ref: "#/components/schemas/ListedClick" },
        },
      },
    },
  },
  "/v1/analytics/:link_id/stream": {
    description:
      "Events named `click`. Each has an id for resuming, and a `ClickEvent` as JSON in `data`. Lines that begin with a colon keep the connection open.",
    content: {
      "text/event-stream": {
        schema: {
          type: "string" as const,
          examples: [EXAMPLE_EVENT],
          "x-event-data": { $ref: "#/components/schemas/ClickEvent" },
        },
      },
    },
  },
};

/** Headers that a route reads itself, without a schema that validates them. */
const EXTRA_HEADERS: Readonly<Record<string, z.ZodObject>> = {
  "/v1/analytics/:link_id/stream": z.object({
    "Last-Event-ID": z
      .string()
      .optional()
      .meta({
        description: "The id of the last event that was received, to resume after it.",
        examples: ["1772442907318.0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3"],
        maxLength: 128,
      }),
  }),
  "/v1/shared/:token": z.object({
    "X-Share-Access": z
      .string()
      .optional()
      .meta({
        description:
          "The access token of `unlockSharedStatistics`; only for statistics with a password.",
        examples: ["1772446500.q1Zt…"],
        maxLength: 64,
      }),
  }),
};
