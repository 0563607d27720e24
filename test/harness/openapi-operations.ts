/** The operations of the API's OpenAPI document. */
import * as z from "zod";

import { createFakeApi } from "./fake-api.ts";

const operationSchema = z.object({
  parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
  responses: z.record(
    z.string(),
    z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })).optional() }),
  ),
});

const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
});

/** Reads the operations from the document as it is served; a name is such as `get /v1/links`. */
export async function readOperations() {
  const { body } = await createFakeApi().send("/v1/openapi.json");
  return Object.entries(documentSchema.parse(body).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      ...operation,
    })),
  );
}
