/**
 * Goal: the reference of an installation names that installation's addresses, and sends nobody's
 * key elsewhere.
 */
import { describe, expect, test } from "bun:test";

import { createFakeApi } from "../../test/harness/fake-api.ts";
import { PLACEHOLDERS } from "./document.ts";

const OWN = { apiUrl: "https://links-api.acme.test", shortUrl: "https://acme.test:8443" };

const PAGES = ["/v1/openapi.json", "/docs", "/docs/start.js", "/docs/errors"];

/** Hosts that stand for nobody's installation: destinations, custom domains and a browser's own. */
const OF_EXAMPLES =
  /(?:^|\.)example\.com$|^(?:apps\.apple\.com|news\.ycombinator\.com|www\.google\.com)$/;

async function readPages(options: Parameters<typeof createFakeApi>[1]): Promise<string[]> {
  const api = createFakeApi({}, options);
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

    const document = JSON.parse(pages[0] ?? "");
    expect(document.servers[0].url).toBe(OWN.apiUrl);
    expect(document.info.description).toContain(`curl "${OWN.apiUrl}/v1/links"`);
    expect(pages[0]).toContain(`${OWN.apiUrl}/docs/errors#invalid_request`);
    expect(pages[0]).toContain(`${OWN.shortUrl}/spring-sale`);
    expect(pages[0]).toContain('"acme.test:8443"');
  });

  test("of an API that does not know its address names none, not even that of the request", async () => {
    const pages = await readPages({ shortUrl: OWN.shortUrl });
    const document = JSON.parse(pages[0] ?? "");
    expect(document.servers[0].url).toBe("/");
    const commands: string[] = document.info.description.match(/curl "[^"]*"/g);
    expect(commands).toEqual([
      'curl "$API_URL/v1/links"',
      'curl "$API_URL/v1/analytics/$LINK_ID?period=7d"',
    ]);
    expect(pages.join("\n")).not.toMatch(/sho\.rt|api\.test/);
  });
});

test("every tag of an operation has a description, and every description an operation", async () => {
  const { text } = await createFakeApi({}).send("/v1/openapi.json");
  const document: {
    tags: { name: string }[];
    paths: Record<string, Record<string, { tags?: string[] }>>;
  } = JSON.parse(text);
  const used = Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ tags = [] }) => tags);
  expect(document.tags.map(({ name }) => name).toSorted()).toEqual([...new Set(used)].toSorted());
});

test("errors name the page about them at the configured address, whatever host a request names", async () => {
  const { body } = await createFakeApi({}, OWN).send("/v1/limits");
  expect(body).toMatchObject({ error: { doc_url: `${OWN.apiUrl}/docs/errors#unauthorized` } });
});
