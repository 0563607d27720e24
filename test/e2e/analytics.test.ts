/**
 * Goal: analytics match the clicks. Method: a known set of clicks, by address, user agent and
 * referrer, and what they are broken down into, calculated by hand.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, CHROME, IPHONE, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const MOUNTAIN_VIEW = "8.8.8.8";
const LONDON = "81.2.69.142";

/** Address, user agent, referrer and count: six clicks of people and two of a bot. */
const CLICKS: [string, string, string, number][] = [
  [MOUNTAIN_VIEW, CHROME, "https://www.google.com/search", 3],
  [LONDON, IPHONE, "", 2],
  ["127.0.0.1", "curl/8.5.0", "https://news.example.co.uk/a", 1],
  [LONDON, "Twitterbot/1.0", "", 2],
];

const api = (path: string) => `${stack.info().api_url}${path}`;
const bulk = (body: Record<string, unknown>) => call(api("/v1/analytics/bulk"), { key, body });
const get = async (path: string) => await call(api(`/v1/analytics/${path}`), { key });

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const create = async (body: object) =>
  linkSchema.parse((await call(api("/v1/links"), { key, body })).body);
const link = await create({ url: "https://example.com/clicked" });
const clicked: string = link.id;
for (const [address, agent, referer, times] of CLICKS) {
  for (let i = 0; i < times; i++) {
    await call(link.short_url, {
      headers: {
        "x-forwarded-for": address,
        "user-agent": agent,
        ...(referer === "" ? {} : { referer }),
      },
    });
  }
}
await eventually(async () => {
  const { summary } = summarySchema.parse((await get(clicked)).body);
  expect([summary.total_clicks, summary.bot_clicks]).toEqual([6, 2]);
  // Rollups follow the raw clicks, which the summary of a link with few clicks is read from.
  const { body } = await bulk({ link_ids: [clicked] });
  expect(body).toMatchObject({ data: [{ clicks: 6, top_countries: ["US", "GB", "ZZ"] }] });
});

const breakdownSchema = z.object({
  data: z.array(z.object({ values: z.record(z.string(), z.string()), clicks: z.int() })),
});

const click = async (short: string) =>
  expect((await call(short, { headers: { "user-agent": CHROME } })).status).toBe(302);

/** Clicks of a link by a dimension. */
async function countBy(link: string, by: string): Promise<Record<string, number>> {
  const { body } = await get(`${link}/breakdown?by=${by}`);
  return Object.fromEntries(
    breakdownSchema.parse(body).data.map(({ values, clicks }) => [values[by] ?? "", clicks]),
  );
}

test.each<[by: string, counts: Record<string, number>]>([
  ["country", { US: 3, GB: 2, ZZ: 1 }],
  ["region", { California: 3, England: 2, Unknown: 1 }],
  ["city", { "Mountain View": 3, London: 2, Unknown: 1 }],
  ["device", { desktop: 3, mobile: 2, other: 1 }],
  ["browser", { Chrome: 3, Safari: 2, Unknown: 1 }],
  ["os", { Windows: 3, iOS: 2, Unknown: 1 }],
  ["referrer", { "google.com": 3, direct: 2, "example.co.uk": 1 }],
])("clicks are counted by %s as they came", async (by, counts) => {
  expect(await countBy(clicked, by)).toEqual(counts);
});

test("a click counts for the UTM parameters that its destination was sent, and for the short URL's where it has none", async () => {
  const url = "https://example.com/?utm_source=site";
  const plain = await create({ url });
  const { id, short_url } = await create({
    url,
    utm_source: "Brief März & mehr",
    utm_campaign: "spring",
    rules: [{ url: "https://example.org/", conditions: [{ type: "query", name: "rule" }] }],
  });
  for (const query of ["", "?utm_source=own", "?utm_medium=own", "?rule"])
    await click(short_url + query);
  await click(plain.short_url);
  await eventually(async () => {
    expect([
      await countBy(id, "utm_source"),
      await countBy(id, "utm_medium"),
      await countBy(id, "utm_campaign"),
      await countBy(plain.id, "utm_source"),
    ]).toEqual([{ "Brief März & mehr": 4 }, { "": 3, own: 1 }, { spring: 4 }, { site: 1 }]);
  });
  await call(api(`/v1/links/${id}`), { key, method: "PATCH", body: { utm_source: "later" } });
  // Crawlers are not among the clicks that are counted.
  await eventually(async () => {
    const { headers } = await call(short_url, { headers: { "user-agent": "Googlebot/2.1" } });
    expect(headers.get("location")).toContain("utm_source=later");
  });
  await click(short_url);
  await eventually(async () => {
    expect(await countBy(id, "utm_source")).toEqual({ "Brief März & mehr": 4, later: 1 });
  });
});
