/**
 * Goal: the document says how filters are repeated, excluded and escaped, and with the same names
 * everywhere.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createFakeApi } from "../../test/harness/fake-api.ts";
import { filterParameters } from "../analytics/filters.ts";

const parameters = z
  .array(
    z.object({
      name: z.string(),
      description: z.string(),
      schema: z.object({ examples: z.array(z.unknown()).default([]) }),
    }),
  )
  .optional();

const documentSchema = z.object({
  info: z.object({ description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), z.object({ parameters }))),
});

const readDocument = async () =>
  documentSchema.parse((await createFakeApi().send("/v1/openapi.json")).body);

test("every filter of every operation has an example, and says how to repeat, exclude and escape values", async () => {
  const { paths } = await readDocument();
  const withFilters = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods)
      .filter((operation) => operation.parameters?.some(({ name }) => name === "country"))
      .map((operation) => ({ path, parameters: operation.parameters ?? [] })),
  );
  expect(withFilters.length).toBeGreaterThan(15);
  for (const { path, parameters: described } of withFilters) {
    const texts = new Map(described.map(({ name, description }) => [name, description]));
    const filters = described.filter(({ name }) => name in filterParameters);
    expect(filters.filter(({ schema }) => schema.examples.length === 0)).toEqual([]);
    for (const name of Object.keys(filterParameters)) {
      expect([path, name, texts.get(name)]).toEqual([
        path,
        name,
        expect.stringMatching(/Repeat it .*`-` before a value excludes.* backslash/),
      ]);
    }
  }
});

test("the guide has examples of what filters can say", async () => {
  const { info } = await readDocument();
  for (const text of ["country=DE&country=AT", "country=-DE", "tag=\\-odd", "utm_source="])
    expect(info.description).toContain(`\`${text}\``);
});
