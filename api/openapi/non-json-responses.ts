/** OpenAPI descriptions of the responses that are not JSON, for which routes have no schema. */
import type { ZodOpenApiResponseObject } from "zod-openapi";

const text = { schema: { type: "string" as const } };

/** By the path of the route. */
export const NON_JSON_RESPONSES: Readonly<Record<string, ZodOpenApiResponseObject>> = {
  "/v1/links/:id/qr": {
    description: "The image in the requested format",
    content: { "image/svg+xml": text, "image/png": text },
  },
  "/v1/analytics/:link_id/stream": {
    description: "Events named `click`, each with an id for resuming and a click as JSON",
    content: { "text/event-stream": text },
  },
};
