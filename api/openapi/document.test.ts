/**
 * Goal: the OpenAPI document and the reference that is made of it say what generated clients and
 * people need, name this installation's addresses, and send nobody's key elsewhere.
 */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { FakeApi, type FakeOptions } from "../../test/harness/fake-api.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { PLACEHOLDERS } from "./document.ts";

const parameterSchema = z.object({
  name: z.string(),
  in: z.string(),
  description: z.string().default(""),
  schema: z.object({ examples: z.array(z.unknown()).default([]) }),
});

const operationSchema = z.object({
  parameters: z.array(parameterSchema).default([]),
  tags: z.array(z.string()).default([]),
  responses: z.record(
    z.string(),
    z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })).optional() }),
  ),
});

const documentSchema = z.object({
  info: z.object({ description: z.string() }),
  tags: z.array(z.object({ name: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
});

/** The document as it is served. */
const document = documentSchema.parse((await new FakeApi().send("/v1/openapi.json")).body);

/** Its operations; a name is such as `get /v1/links`. */
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method} ${path}`,
    ...operation,
  })),
);

test("of a response in CSV, JSON comes first and has a schema of its own", () => {
  const contents = operations
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

const OWN = { apiUrl: "https://links-api.acme.test", shortUrl: "https://acme.test:8443" };

const PAGES = ["/v1/openapi.json", "/docs", "/docs/start.js", "/docs/errors"];

/** Hosts that stand for nobody's installation: destinations, custom domains and a browser's own. */
const OF_EXAMPLES =
  /(?:^|\.)example\.com$|^(?:apps\.apple\.com|news\.ycombinator\.com|www\.google\.com)$/;

async function readPages(options: FakeOptions): Promise<string[]> {
  const api = new FakeApi({}, options);
  const pages = await Promise.all(PAGES.map(async (path) => await api.send(path)));
  expect(pages.map(({ status }) => status)).toEqual(PAGES.map(() => 200));
  return pages.map(({ text }) => text);
}

const hostsIn = (text: string): Set<string> =>
  new Set(text.match(/(?<=https?:\/\/)[a-z0-9.-]+(?::\d+)?/g));

describe("the reference", () => {
  test("names the configured addresses and no other installation's", async () => {
    const pages = await readPages(OWN);
    const text = pages.join("\n");
    expect(text).not.toContain("sho.rt");
    for (const placeholder of Object.values(PLACEHOLDERS))
      expect(text).not.toContain(new URL(placeholder).host);
    const own = new Set(Object.values(OWN).map((url) => new URL(url).host));
    const others = [...hostsIn(text)].filter((host) => !own.has(host));
    expect(others.filter((host) => !OF_EXAMPLES.test(host))).toEqual([]);

    const named = JSON.parse(pages[0] ?? "");
    expect(named.servers[0].url).toBe(OWN.apiUrl);
    expect(named.info.description).toContain(`curl "${OWN.apiUrl}/v1/links"`);
    expect(pages[0]).toContain(`${OWN.apiUrl}/docs/errors#invalid_request`);
    expect(pages[0]).toContain(`${OWN.shortUrl}/spring-sale`);
    expect(pages[0]).toContain('"acme.test:8443"');
  });

  test("of an API that does not know its address names none, not even that of the request", async () => {
    const pages = await readPages({ shortUrl: OWN.shortUrl });
    const nameless = JSON.parse(pages[0] ?? "");
    expect(nameless.servers[0].url).toBe("/");
    const commands: string[] = nameless.info.description.match(/curl "[^"]*"/g);
    expect(commands).toEqual([
      'curl "$API_URL/v1/links"',
      'curl "$API_URL/v1/analytics/$LINK_ID?period=7d"',
    ]);
    expect(pages.join("\n")).not.toMatch(/sho\.rt|api\.test/);
  });
});

test("every tag of an operation has a description, and every description an operation", () => {
  const used = operations.flatMap(({ tags }) => tags);
  expect(document.tags.map(({ name }) => name).toSorted()).toEqual([...new Set(used)].toSorted());
});

test("errors name the page about them at the configured address, whatever host a request names", async () => {
  const { body } = await new FakeApi({}, OWN).send("/v1/limits");
  expect(body).toMatchObject({ error: { doc_url: `${OWN.apiUrl}/docs/errors#unauthorized` } });
});

const folder = dirForFile("shorthop-client-");

test("the client is unavailable while it is packed, as everything else that is, and then there", async () => {
  const clientFile = join(folder, "client.tgz");
  const api = new FakeApi({}, { clientFile });
  const early = await api.send("/client.tgz");
  expect([early.status, early.headers.get("cache-control")]).toEqual([503, "no-store"]);
  expect(Number(early.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(early.body).toMatchObject({
    error: { code: "unavailable", message: "The client is being packed. Try again shortly." },
  });
  writeFileSync(clientFile, "packed");
  const packed = await api.send("/client.tgz");
  expect([packed.status, packed.text]).toEqual([200, "packed"]);
});

test("an API without a dashboard has no client", async () => {
  const api = new FakeApi({}, { clientFile: join(folder, "missing", "client.tgz") });
  expect((await api.send("/client.tgz")).status).toBe(404);
});
