/** Components that all operations of the OpenAPI document share. */
import * as z from "zod";
import type { ZodOpenApiComponentsObject } from "zod-openapi";

import { ERROR_CODES } from "../http/errors.ts";

export const errorResponse = z
  .object({
    error: z.object({
      code: z.enum(ERROR_CODES),
      message: z.string().meta({ description: "A message for humans; its wording may change." }),
      retry_after: z
        .int()
        .optional()
        .meta({ description: "Whole seconds to wait before a retry; only with `rate_limited`." }),
    }),
  })
  .meta({ id: "Error" });

const integer = { type: "integer" as const };

const HEADERS = {
  "X-Request-Id": {
    description:
      "Identifies the request in the service's logs. If the client sends one, it is used.",
    schema: { type: "string" as const },
  },
  "X-RateLimit-Limit": {
    description: "Maximum number of requests in the window.",
    schema: integer,
  },
  "X-RateLimit-Remaining": { description: "Requests left in the window.", schema: integer },
  "X-RateLimit-Reset": { description: "When the window ends, in Unix seconds.", schema: integer },
  "X-RateLimit-Policy": {
    description: "The window as `<limit>;w=<seconds>`.",
    schema: { type: "string" as const, examples: ["60;w=60"] },
  },
};

/** References to the headers of every response. */
export const headerRefs = Object.fromEntries(
  Object.keys(HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` as const }]),
);

export const components: ZodOpenApiComponentsObject = {
  headers: HEADERS,
  securitySchemes: {
    apiKey: {
      type: "http",
      scheme: "bearer",
      description: "An API key: `sk_live_…` for real data, `sk_test_…` for development.",
    },
  },
};
