/** Answers that are not JSON, which no schema describes. */
import type { ZodOpenApiResponseObject } from "zod-openapi";

const image = { schema: { type: "string" as const } };

/** By the path of the route. */
export const BINARY_ANSWERS: Readonly<Record<string, ZodOpenApiResponseObject>> = {
  "/v1/links/:id/qr": {
    description: "The image, in the format that was asked for",
    content: { "image/svg+xml": image, "image/png": image },
  },
};
