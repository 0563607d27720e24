/** Answers that are not JSON, which no schema describes. */
import type { ZodOpenApiResponseObject } from "zod-openapi";

const text = { schema: { type: "string" as const } };

/** By the path of the route. */
export const BINARY_ANSWERS: Readonly<Record<string, ZodOpenApiResponseObject>> = {
  "/v1/links/:id/qr": {
    description: "The image, in the format that was asked for",
    content: { "image/svg+xml": text, "image/png": text },
  },
  "/v1/analytics/:link_id/stream": {
    description: "Events named `click`, each with an id to resume from and a click as JSON",
    content: { "text/event-stream": text },
  },
};
