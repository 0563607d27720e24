/**
 * Goal: the document names every status with which an operation refuses a link that is not the
 * caller's.
 */
import { expect, test } from "bun:test";

import { readOperations } from "../../test/harness/openapi-operations.ts";

/** The ledger is filtered by a link, which may be gone: its events stay. */
const FILTERS: ReadonlySet<string> = new Set(["get /v1/events"]);

test("an operation that takes a link's id in its query documents 404", async () => {
  const taking = (await readOperations()).filter(
    ({ name, parameters }) =>
      !FILTERS.has(name) &&
      parameters.some((parameter) => parameter.in === "query" && parameter.name === "link_id"),
  );
  expect(taking.map(({ name }) => name).toSorted()).toEqual([
    "get /v1/analytics/failures",
    "get /v1/clicks",
    "get /v1/clicks/export",
  ]);
  for (const { name, responses } of taking)
    expect([name, "404" in responses]).toEqual([name, true]);
});
