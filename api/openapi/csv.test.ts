/** Goal: generated clients can tell JSON and CSV apart, as each has an entry and a type of its own. */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createFakeApi } from "../../test/harness/fake-api.ts";

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        responses: z.record(
          z.string(),
          z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })).optional() }),
        ),
      }),
    ),
  ),
});

test("of a response in CSV, JSON comes first and has a schema of its own", async () => {
  const { paths } = documentSchema.parse((await createFakeApi().send("/v1/openapi.json")).body);
  const responses = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ responses: { 200: ok } }) => ok?.content?.["text/csv"] !== undefined)
    .map((operation) => operation.responses);
  expect(responses.length).toBeGreaterThan(15);
  for (const { 200: ok } of responses) {
    expect(Object.keys(ok?.content ?? {})).toEqual(["application/json", "text/csv"]);
    expect(ok?.content?.["application/json"]?.schema).toEqual({
      $ref: expect.stringContaining("#/components/schemas/"),
    });
    expect(ok?.content?.["text/csv"]?.schema).toMatchObject({ type: "string" });
  }
});
