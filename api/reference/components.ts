/** What all operations of the reference share. */
import * as z from "zod";
import type { ZodOpenApiComponentsObject } from "zod-openapi";

import { ERROR_CODES } from "../http/errors.ts";

export const errorAnswer = z
  .object({
    error: z.object({
      code: z.enum(ERROR_CODES),
      message: z.string().meta({ description: "For people; may change." }),
      retry_after: z
        .int()
        .optional()
        .meta({ description: "Whole seconds to wait; with `rate_limited` alone." }),
    }),
  })
  .meta({ id: "Error" });

const integer = { type: "integer" as const };

const HEADERS = {
  "X-Request-Id": {
    description: "Names this request in the service's log; one that the client sends is kept.",
    schema: { type: "string" as const },
  },
  "X-RateLimit-Limit": { description: "The most requests the window takes.", schema: integer },
  "X-RateLimit-Remaining": { description: "Requests left in the window.", schema: integer },
  "X-RateLimit-Reset": { description: "When the window closes, in Unix seconds.", schema: integer },
  "X-RateLimit-Policy": {
    description: "The window as `<limit>;w=<seconds>`.",
    schema: { type: "string" as const, examples: ["60;w=60"] },
  },
};

/** The headers of every answer. */
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
