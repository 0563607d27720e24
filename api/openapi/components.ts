/** Components that all operations of the OpenAPI document share. */
import type { ZodOpenApiComponentsObject } from "zod-openapi";

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

/** The headers of every response. */
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
