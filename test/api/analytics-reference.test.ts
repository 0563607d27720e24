/**
 * Goal: every number is correct, in any time zone and over any range. Method: clicks around clock
 * changes and midnights, and a reference implementation that counts them one by one with another
 * time zone library.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import {
  anyClick,
  anyRange,
  anyRangeToChange,
  type Click,
  DAY_MS,
  DAY_TEXT,
  insert,
  insertClicks,
  INSTANT_TEXT,
  type Query,
  summarize,
  toSpan,
  ZONES,
} from "../harness/analytics-reference.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { casesOf, LONG, longTest } from "../harness/property-runs.ts";
import { SEED } from "../harness/seed.ts";

const LINKS = 5;
const CLICKS = 15_000;
const COMBINATIONS = casesOf(1_000, 10);
const PARAMETER_SETS = casesOf(5_000, 60);

/** A link with more clicks than are counted exactly, and its visitors. */
const MANY = { clicks: 1_300_000, visitors: 400_009 };

const api = (path: string) => `${stack.info().api_url}${path}`;
const get = async (path: string) => await call(api(`/v1/analytics${path}`), { key: account.key });

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(stack, "enterprise", UNLIMITED);
const createdLinks = [];
for (let i = 0; i < LINKS + 1; i++) {
  const body = { url: `https://example.com/${i}` };
  createdLinks.push(
    linkSchema.parse((await call(api("/v1/links"), { key: account.key, body })).body),
  );
}
const { sql } = stack.database;
const links = createdLinks.map(({ id }, i) => ({
  id,
  uuid: decodeId("link", id) ?? "",
  created: Date.parse("2024-03-01T12:00Z") + i * 40 * DAY_MS,
}));
for (const [i, { uuid, created }] of links.entries()) {
  await sql`update links set created_at = ${new Date(created)} where id = ${uuid}`;
  // Links with many clicks are read from the rollups: here most of them.
  await sql`update link_counters set clicks = ${i === 0 ? 1 : 10_000_000} where link_id = ${uuid}`;
}
const many = links.pop()?.id ?? "";
const clicks = fc.sample(anyClick(Date.now(), LINKS), { numRuns: CLICKS, seed: 20_261_121 });
await insertClicks(
  stack,
  account.id,
  links.map(({ uuid }) => uuid),
  clicks,
);
if (LONG) await insertMany();

async function insertMany(): Promise<void> {
  const account_id = decodeId("acct", account.id) ?? "";
  await insert(
    stack,
    `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, segment, idx)
     SELECT now64(3, 'UTC') - 86400 * 5 - number % 2000000, '${decodeId("link", many)}', '${account_id}', 'live',
            'human', sipHash64(number % ${MANY.visitors}), 'DE', 'mobile', '${account_id}', 1, 0
       FROM numbers(${MANY.clicks})
     SETTINGS max_partitions_per_insert_block = 0`,
    "",
  );
}

/** Compares the first names that differ, byte by byte. */
function compareNames(a: string[], b: string[]): number {
  const i = a.findIndex((name, at) => name !== b[at]);
  return i < 0 ? 0 : Buffer.compare(Buffer.from(a[i] ?? ""), Buffer.from(b[i] ?? ""));
}

const orUnknown = (text: string): string => (text === "" ? "Unknown" : text);

/** Groups clicks into rows with their share, most clicks first, ties in order of names. */
function breakDown(
  found: readonly Click[],
  read: (click: Click) => Record<string, string>,
  limit: number,
) {
  const humans = found.filter((click) => click.class === "human");
  const groups = [...Map.groupBy(humans, (click) => JSON.stringify(read(click)))].map(
    ([key, { length }]) => ({
      names: Object.values(JSON.parse(key)).map(String),
      row: JSON.parse(key),
      clicks: length,
    }),
  );
  return groups
    .toSorted((a, b) => b.clicks - a.clicks || compareNames(a.names, b.names))
    .slice(0, limit)
    .map(({ row, clicks: count }) => ({
      ...row,
      clicks: count,
      percentage: Math.round((count / humans.length) * 1_000) / 10,
    }));
}

const inZone = ([range, timezone]: [Query, string]): Query => ({ ...range, timezone });

const anyQuery = fc.record({
  link: fc.integer({ min: 0, max: LINKS - 1 }),
  query: fc.oneof(
    { weight: 3, arbitrary: fc.tuple(anyRange, fc.constantFrom(...ZONES)).map(inZone) },
    { weight: 1, arbitrary: anyRangeToChange },
  ),
  limit: fc.integer({ min: 1, max: 12 }),
  group_by: fc.constantFrom("country", "region", "city"),
});

const readLocation = (group: string) => (click: Click) => {
  const [country, region, region_name, city] = click.place;
  if (group === "country") return { country };
  return group === "region"
    ? { region: orUnknown(region), region_name: orUnknown(region_name), country }
    : { city: orUnknown(city), region: orUnknown(region), country };
};

test(`every number of ${COMBINATIONS} queries equals a count of the clicks`, async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(anyQuery, async ({ link, query, limit, group_by }) => {
      const { id, created } = links[link] ?? { id: "", created: 0 };
      const now = Date.now();
      const span = toSpan(query, created, now);
      const found = clicks.filter(
        (click) => click.link === link && click.at >= span.from && click.at < span.to,
      );
      const text = new URLSearchParams({ ...query }).toString();
      const expected = summarize(found, span, query.period === "24h");
      const [summary, geo, devices, referrers] = await Promise.all([
        get(`/${id}?${text}`),
        get(`/${id}/geo?${text}&group_by=${group_by}&limit=${limit}`),
        get(`/${id}/devices?${text}`),
        get(`/${id}/referrers?${text}&limit=${limit}`),
      ]);
      seen += expected.summary.total_clicks;
      expect(summary.body).toMatchObject(expected);
      const { clicks_over_time } = overTime.parse(summary.body);
      expect(clicks_over_time).toHaveLength(expected.clicks_over_time.length);
      expect(clicks_over_time.reduce((sum, day) => sum + day.clicks, 0)).toBe(
        expected.summary.total_clicks,
      );
      const { data } = z
        .object({ data: z.array(z.record(z.string(), z.unknown())) })
        .parse(geo.body);
      const locations = breakDown(found, readLocation(group_by), limit);
      expect(data).toHaveLength(locations.length);
      expect(data).toMatchObject(locations);
      const all = LINKS * CLICKS;
      expect(devices.body).toMatchObject({
        devices: breakDown(found, ({ device }) => ({ type: device }), all),
        browsers: breakDown(found, ({ browser }) => ({ name: browser }), all),
        os: breakDown(found, ({ os }) => ({ name: os }), all),
      });
      expect(referrers.body).toMatchObject({
        referrers: breakDown(found, ({ referrer }) => ({ source: referrer }), limit),
      });
    }),
    { numRuns: COMBINATIONS, seed: SEED },
  );
  expect(seen).toBeGreaterThan(LONG ? CLICKS / 10 : 0);
});

const overTime = z.object({ clicks_over_time: z.array(z.object({ clicks: z.number() })) });

test("every breakdown of an account equals a count of all its clicks", async () => {
  // Another link of the account has more than a million recent clicks, which this reference does
  // not count.
  const before = {
    start_date: "2024-08-01",
    end_date: new Date(Date.now() - 40 * DAY_MS).toISOString(),
  };
  const anyAccountRange = fc
    .oneof(fc.tuple(DAY_TEXT, DAY_TEXT), fc.tuple(INSTANT_TEXT, INSTANT_TEXT))
    .map(([a, b]) => [a, b].toSorted())
    .filter(([a = "", b = ""]) => (a.length === 10 || a < b) && b < before.end_date)
    .map(([start_date = "", end_date = ""]) => ({ start_date, end_date }));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constant(before), anyAccountRange),
      fc.constantFrom(...ZONES),
      fc.constantFrom("country", "region", "city"),
      async (range, timezone, group_by) => {
        const query: Query = { ...range, timezone };
        const span = toSpan(query, 0, Date.now());
        const found = clicks.filter(({ at }) => at >= span.from && at < span.to);
        const text = new URLSearchParams({ ...query }).toString();
        const [geo, devices, referrers] = await Promise.all([
          get(`/geo?${text}&group_by=${group_by}&limit=10`),
          get(`/devices?${text}`),
          get(`/referrers?${text}&limit=10`),
        ]);
        expect(geo.body).toMatchObject({
          group_by,
          data: breakDown(found, readLocation(group_by), 10),
        });
        expect(devices.body).toMatchObject({
          devices: breakDown(found, ({ device }) => ({ type: device }), found.length),
          browsers: breakDown(found, ({ browser }) => ({ name: browser }), found.length),
          os: breakDown(found, ({ os }) => ({ name: os }), found.length),
        });
        expect(referrers.body).toEqual({
          referrers: breakDown(found, ({ referrer }) => ({ source: referrer }), 10),
        });
      },
    ),
    { numRuns: COMBINATIONS / 5, seed: SEED },
  );
});

describe("analytics of several links", () => {
  test.each<Record<string, string>>([
    ...["24h", "7d", "30d", "90d", "all"].map((period) => ({ period })),
    { period: "7d", timezone: "Asia/Kathmandu" },
    { start_date: "2024-09-01", end_date: "2026-04-30", timezone: "America/New_York" },
    { start_date: "2024-10-03T10:07:31.250Z", end_date: "2026-05-01T02:03:04Z" },
    { start_date: "2025-11-02", timezone: "Europe/Berlin" },
    { end_date: "2026-05-01" },
  ])("in bulk equal those of each link, over %o", async (period) => {
    const link_ids = links.map(({ id }) => id);
    const bulk = await call(api("/v1/analytics/bulk"), {
      key: account.key,
      body: { link_ids, ...period },
    });
    // In bulk, the period "all" starts with the first link.
    const created = Math.min(...links.map((link) => link.created));
    const span = toSpan(period, created, Date.now());
    expect(bulk.body).toEqual({
      data: links.map(({ id }, link) => {
        const found = clicks.filter(
          (click) => click.link === link && click.at >= span.from && click.at < span.to,
        );
        const { summary } = summarize(found, span, false);
        return {
          link_id: id,
          clicks: summary.total_clicks,
          unique_clicks: summary.unique_clicks,
          top_countries: breakDown(found, readLocation("country"), 5).map(({ country }) => country),
        };
      }),
    });
  });

  test.each(ZONES)("are summed up for the account, in %s", async (timezone) => {
    const query = { start_date: "2024-09-01", end_date: "2026-04-30", timezone };
    const { body } = await get(`?${new URLSearchParams(query).toString()}`);
    const span = toSpan(query, 0, Date.now());
    const found = clicks.filter(({ at }) => at >= span.from && at < span.to);
    const humans = found.filter((click) => click.class === "human");
    expect(body).toMatchObject({
      ...summarize(found, span, false),
      top_links: links
        .map(({ id, uuid }, link) => ({
          uuid,
          entry: { link_id: id, clicks: humans.filter((click) => click.link === link).length },
        }))
        .toSorted((a, b) => b.entry.clicks - a.entry.clicks || (a.uuid < b.uuid ? -1 : 1))
        .map(({ entry }) => entry),
    });
  });
});

longTest(
  "visitors of a link with more clicks than are counted exactly are correct within 1.5 percent",
  async () => {
    // The second range ends now, within an hour, whose clicks are read one by one.
    const start = new Date(Date.now() - 90 * DAY_MS).toISOString().slice(0, 10);
    for (const range of ["period=90d", `start_date=${start}`]) {
      const { body } = await get(`/${many}?${range}`);
      const { summary } = z
        .object({ summary: z.object({ total_clicks: z.number(), unique_clicks: z.number() }) })
        .parse(body);
      expect(summary.total_clicks).toBe(MANY.clicks);
      expect(Math.abs(summary.unique_clicks / MANY.visitors - 1)).toBeLessThan(0.015);
    }
  },
);

/** Breakdowns of the account instead of a link. */
const ACCOUNT_PATHS = ["/account/geo", "/account/devices", "/account/referrers"];

test(`each of ${PARAMETER_SETS} random sets of query parameters succeeds or is rejected with 400`, async () => {
  const text = fc.oneof(
    fc.string({ maxLength: 30 }),
    DAY_TEXT,
    INSTANT_TEXT,
    fc.constantFrom(...ZONES, "24h", "all", "city", "-1", "0", "1e9", "9999-12-31", "0000-01-01"),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  );
  const names = ["period", "start_date", "end_date", "timezone", "limit", "group_by"];
  const anySet = fc.record({
    id: fc.constantFrom(links[0]?.id ?? "", many),
    path: fc.constantFrom("", "/", "/geo", "/devices", "/referrers", ...ACCOUNT_PATHS),
    query: fc.dictionary(fc.constantFrom(...names), text),
  });
  const sets = fc.sample(anySet, { numRuns: PARAMETER_SETS, seed: SEED });
  const statuses = new Set<number>();
  const failed: string[] = [];
  const sendQueries = async (worker: number): Promise<void> => {
    for (let i = worker; i < sets.length; i += 8) {
      const { id = "", path = "", query = {} } = sets[i] ?? {};
      const linkPath = path === "" ? "" : `/${id}${path === "/" ? "" : path}`;
      const at = ACCOUNT_PATHS.includes(path) ? path.replace("/account", "") : linkPath;
      const request = `${at}?${new URLSearchParams(query).toString()}`;
      const { status } = await get(request);
      statuses.add(status);
      if (status >= 500) failed.push(request);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, worker) => sendQueries(worker)));
  expect(failed).toEqual([]);
  expect(statuses).toEqual(new Set([200, 400]));
});

const getCsv = async (path: string) =>
  await fetch(api(`/v1/analytics${path}`), {
    headers: { authorization: `Bearer ${account.key}`, accept: "text/csv" },
  });

describe("analytics as CSV", () => {
  test("contain the same data as JSON", async () => {
    const id = links[0]?.id;
    const query = "start_date=2026-03-01&end_date=2026-03-31";
    const { body } = await get(`/${id}?${query}`);
    const { clicks_over_time } = z
      .object({ clicks_over_time: z.array(z.record(z.string(), z.unknown())) })
      .parse(body);
    const response = await getCsv(`/${id}?${query}`);
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("x-ratelimit-limit")).not.toBeNull();
    expect((await response.text()).split("\r\n")).toEqual([
      "date,clicks,unique",
      ...clicks_over_time.map((day) => Object.values(day).join(",")),
      "",
    ]);
    for (const [path, header] of [
      ["/geo?group_by=city", "city,region,country,clicks,percentage"],
      ["/devices", "dimension,name,clicks,percentage"],
      ["/referrers", "source,clicks,percentage"],
    ]) {
      const lines = (await (await getCsv(`/${id}${path}`)).text()).trim().split("\r\n");
      expect(lines[0]).toBe(header);
      expect(lines.length).toBeGreaterThan(1);
    }
    expect((await (await getCsv("")).text()).split("\r\n")[0]).toBe("date,clicks,unique");
  });

  test("report errors as JSON", async () => {
    const response = await getCsv(`/${links[0]?.id}?period=never`);
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toContain("application/json");
  });
});
