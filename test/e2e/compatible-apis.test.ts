/**
 * Goal: clients that were written for other products work on a stack as they are, up to the clicks.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ShlinkApiClient } from "@shlinkio/shlink-js-sdk";
import type { ShlinkRedirectCondition } from "@shlinkio/shlink-js-sdk/api-contract";
import { FetchHttpClient } from "@shlinkio/shlink-js-sdk/fetch";

import { createAccount } from "../harness/admin.ts";
import { CHROME } from "../harness/api.ts";
import { createCertificates } from "../harness/certificates.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const COUNTED_MS = 15_000;

const stack = await forFile(useStack());
const account = await createAccount(stack, "enterprise");

test("Shlink's SDK creates, lists, edits and deletes, and reads visits", async () => {
  const serverInfo = { baseUrl: stack.info().api_url, apiKey: account.key };
  const shlink = new ShlinkApiClient(new FetchHttpClient(), serverInfo);
  expect(await shlink.health()).toMatchObject({ status: "pass" });

  const shortCode = `shlink-${crypto.randomUUID()}`;
  const longUrl = "https://example.com/shlink";
  const tags = [shortCode];
  const created = await shlink.createShortUrl({ longUrl, customSlug: shortCode, tags });
  expect(created).toMatchObject({ shortCode, longUrl, domain: null });
  const edited = await shlink.updateShortUrl({ shortCode }, { title: "Edited" });
  expect(await shlink.getShortUrl({ shortCode })).toEqual(edited);
  const orderBy = { field: "dateCreated", dir: "DESC" } as const;
  expect((await shlink.listShortUrls({ tags, orderBy })).data).toEqual([edited]);

  const ios: ShlinkRedirectCondition = { type: "device", matchKey: null, matchValue: "ios" };
  const redirectRules = [{ longUrl: "https://example.com/ios", conditions: [ios] }];
  const set = await shlink.setShortUrlRedirectRules({ shortCode }, { redirectRules });
  expect(await shlink.getShortUrlRedirectRules({ shortCode })).toEqual(set);
  expect((await shlink.listDomains()).data[0]).toMatchObject({ isDefault: true });

  const headers = { "user-agent": CHROME, referer: "https://example.com/today" };
  const response = await fetch(created.shortUrl, { redirect: "manual", headers });
  expect(response.headers.get("location")).toBe(longUrl);
  const counted = { total: 1, nonBots: 1, bots: 0 };
  await eventually(async () => {
    const { pagination, data } = await shlink.getShortUrlVisits({ shortCode }, { itemsPerPage: 9 });
    expect(pagination).toMatchObject({ totalItems: 1, pagesCount: 1 });
    // One of the visitor's browser and system, which is all that is known of it.
    const userAgent = CHROME.replace("Chrome/136", "Chrome/120");
    expect(data).toMatchObject([{ userAgent, referer: headers.referer }]);
    expect((await shlink.getShortUrl({ shortCode })).visitsSummary).toEqual(counted);
  }, COUNTED_MS);
  expect((await shlink.getTagVisits(shortCode)).pagination.totalItems).toBe(1);
  expect((await shlink.getNonOrphanVisits({ itemsPerPage: 1 })).data).toHaveLength(1);
  expect((await shlink.getVisitsOverview()).nonOrphanVisits).toEqual(counted);
  expect((await shlink.getOrphanVisits()).data).toEqual([]);

  const newName = `${shortCode.slice(0, 20)}/b`;
  await shlink.editTag({ oldName: shortCode, newName });
  const { data: stats } = await shlink.tagsStats();
  expect(stats).toContainEqual({ tag: newName, shortUrlsCount: 1, visitsSummary: counted });
  await shlink.deleteTags([newName]);
  expect((await shlink.listTags()).data).not.toContain(newName);
  await shlink.deleteShortUrl({ shortCode });
  for (const gone of [shortCode, `${shortCode}/a`])
    expect(await refusal(shlink.getShortUrl({ shortCode: gone }))).toMatchObject({ status: 404 });
  expect(await refusal(shlink.mercureInfo())).toMatchObject({ status: 501 });
});

const refusal = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "no error",
    (error: unknown) => error,
  );

test("npm's bitly creates, changes and finds links, and reads statistics", async () => {
  const results = await runOnHost("api-ssl.bitly.com", "bitly.mjs");
  const { link } = results;
  expect(results).toEqual({
    link: expect.stringMatching(/\/\w{7}$/),
    isKnown: true,
    expanded: "https://example.com/bitly",
    changed: expect.objectContaining({ link, title: "Changed", tags: ["a"] }),
    info: results["changed"],
    clicks: expect.objectContaining({ unit: "month", units: 2, link_clicks: expect.any(Array) }),
    byDay: expect.objectContaining({ unit: "day", units: -1 }),
    countries: expect.objectContaining({ facet: "countries", metrics: [] }),
    referrers: expect.objectContaining({ facet: "referrers", metrics: [] }),
    refused: "INVALID_ARG_UNIT",
  });
});

test("npm's yourls creates and finds links, and reads statistics", async () => {
  const keyword = `yourls-${crypto.randomUUID()}`;
  const results = await runOnHost("yourls.example.com", "yourls.mjs", { KEYWORD: keyword });
  const shorturl = `${stack.info().short_url}/${keyword}`;
  expect(results).toEqual({
    created: expect.objectContaining({ status: "success", shorturl }),
    again: expect.objectContaining({ code: "error:url", shorturl }),
    expanded: expect.objectContaining({ longurl: "https://example.com/yourls" }),
    stats: expect.objectContaining({ link: expect.objectContaining({ shorturl, clicks: "0" }) }),
    totals: expect.objectContaining({ statusCode: 200 }),
    taken: expect.objectContaining({ status: "fail", code: "error:keyword" }),
  });
});

/**
 * Runs a program of `clients`, for which `host` is the stack, with a certificate of this test's
 * authority.
 */
async function runOnHost(
  host: string,
  program: string,
  env: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-clients-"));
  const { ca, cert, key } = createCertificates(dir, [], [host]);
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: Bun.file(cert), key: Bun.file(key) },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const body = method === "GET" ? null : await request.bytes();
      return await fetch(`${stack.info().api_url}${pathname}${search}`, { method, headers, body });
    },
  });
  const child = Bun.spawn(["node", join(import.meta.dir, "clients", program)], {
    env: {
      ...process.env,
      ...env,
      NODE_EXTRA_CA_CERTS: ca,
      NODE_NO_WARNINGS: "1",
      PORT: String(server.port),
      KEY: account.key,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  rmSync(dir, { recursive: true, force: true });
  expect(errors).toBe("");
  return JSON.parse(output);
}
