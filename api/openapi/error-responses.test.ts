/** Goal: the document names every status with which an operation refuses a link that is not the caller's. */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createFakeApi } from "../../test/harness/fake-api.ts";

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
        responses: z.record(z.string(), z.unknown()),
      }),
    ),
  ),
});

test("an operation that takes a link's id in its query documents 404", async () => {
  const { body } = await createFakeApi().send("/v1/openapi.json");
  const operations = Object.entries(documentSchema.parse(body).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      operation,
    })),
  );
  const taking = operations.filter(({ operation }) =>
    operation.parameters.some(
      (parameter) => parameter.in === "query" && parameter.name === "link_id",
    ),
  );
  expect(taking.map(({ name }) => name).toSorted()).toEqual([
    "get /v1/analytics/failures",
    "get /v1/clicks",
    "get /v1/clicks/export",
  ]);
  for (const { name, operation } of taking)
    expect([name, "404" in operation.responses]).toEqual([name, true]);
});
