/**
 * Goal: analytics match the clicks. Method: a known set of clicks, by address, user agent and
 * referrer, and what they are broken down into, calculated by hand.
 */
import { expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, CHROME, IPHONE } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const MOUNTAIN_VIEW = "8.8.8.8";
const LONDON = "81.2.69.142";

/** Address, user agent, referrer and count: 42 clicks of three people and two of a bot. */
const CLICKS: [string, string, string, number][] = [
  [MOUNTAIN_VIEW, CHROME, "https://www.google.com/search", 39],
  [LONDON, IPHONE, "", 2],
  ["127.0.0.1", "curl/8.5.0", "https://news.example.co.uk/a", 1],
  [LONDON, "Twitterbot/1.0", "", 2],
];

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const { links, analytics } = createClient({ baseUrl: stack.info().api_url, apiKey: key });
const { id: clicked, short_url: clickedUrl } = await links.create({
  url: "https://example.com/clicked",
});
for (const [address, agent, referer, times] of CLICKS) {
  for (let i = 0; i < times; i++) {
    await call(clickedUrl, {
      headers: {
        "x-forwarded-for": address,
        "user-agent": agent,
        ...(referer === "" ? {} : { referer }),
      },
    });
  }
}
// It is no click.
await fetch(clickedUrl, { method: "HEAD", redirect: "manual" });
await eventually(async () => {
  const { summary, clicks_over_time } = await analytics.summary(clicked, { period: "24h" });
  expect(summary).toMatchObject({ total_clicks: 42, unique_clicks: 3, bot_clicks: 2 });
  expect(clicks_over_time).toHaveLength(24);
  expect(clicks_over_time.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(42);
  // Rollups follow the raw clicks, which the summary of a link with few clicks is read from.
  const [counted] = (await analytics.bulk({ link_ids: [clicked] })).data;
  expect(counted).toMatchObject({ clicks: 42, top_countries: ["US", "GB", "ZZ"] });
});

const click = async (short: string) =>
  expect((await call(short, { headers: { "user-agent": CHROME } })).status).toBe(302);

/** Clicks of a link by a dimension. */
async function countBy(link: string, by: string): Promise<Record<string, number>> {
  const { data } = await analytics.breakdown(link, { by });
  return Object.fromEntries(data.map(({ values, clicks }) => [values[by] ?? "", clicks]));
}

test.each<[by: string, counts: Record<string, number>]>([
  ["country", { US: 39, GB: 2, ZZ: 1 }],
  ["region", { California: 39, England: 2, Unknown: 1 }],
  ["city", { "Mountain View": 39, London: 2, Unknown: 1 }],
  ["device", { desktop: 39, mobile: 2, other: 1 }],
  ["browser", { Chrome: 39, Safari: 2, Unknown: 1 }],
  ["os", { Windows: 39, iOS: 2, Unknown: 1 }],
  ["referrer", { "google.com": 39, direct: 2, "example.co.uk": 1 }],
])("clicks are counted by %s as they came", async (by, counts) => {
  expect(await countBy(clicked, by)).toEqual(counts);
});

test("a click counts for the UTM parameters that its destination was sent, and for the short URL's where it has none", async () => {
  const url = "https://example.com/?utm_source=site";
  const plain = await links.create({ url });
  const { id, short_url } = await links.create({
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
  await links.update(id, { utm_source: "later" });
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
