/**
 * Goal: generated clients can tell JSON and CSV apart, as each has an entry and a type of its own.
 */
import { expect, test } from "bun:test";

import { readOperations } from "../../test/harness/openapi-operations.ts";

test("of a response in CSV, JSON comes first and has a schema of its own", async () => {
  const contents = (await readOperations())
    .map(({ responses }) => responses["200"]?.content ?? {})
    .filter((content) => content["text/csv"] !== undefined);
  expect(contents.length).toBeGreaterThan(15);
  for (const content of contents) {
    expect(Object.keys(content)).toEqual(["application/json", "text/csv"]);
    expect(content["application/json"]?.schema).toEqual({
      $ref: expect.stringContaining("#/components/schemas/"),
    });
    expect(content["text/csv"]?.schema).toMatchObject({ type: "string" });
  }
});
