/**
 * Goal: every number about clicks is right, over any range, in any time zone, with any filters and
 * comparisons, and counts one's own clicks only. Method: random clicks around clock changes and
 * midnights, and a reference that counts them one by one with another time zone library.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import { DateTime } from "luxon";
import * as z from "zod";

import { decodeId, newUuid } from "../../shared/ids.ts";
import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import {
  anyClick,
  anyRange,
  anyRangeToChange,
  type Click,
  comparedSpan,
  countUnique,
  DAY_MS,
  insert,
  insertClicks,
  placeOf,
  type Query,
  summarize,
  toSpan,
  ZONES,
} from "../harness/analytics-reference.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call, type CallOptions, codeOf, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { casesOf, LONG, longTest } from "../harness/property-runs.ts";
import { SEED } from "../harness/seed.ts";

const CLICKS = casesOf(15_000, 5_000);
const QUESTIONS = casesOf(1_000, 16);
/** A link with more clicks than are counted exactly, and its visitors. */
const MANY = { clicks: 1_300_000, visitors: 400_009 };

/** Tags of the links; the second one is on an own domain. */
const LINK_TAGS = [["launch"], ["launch", "-odd"], [], ["paid"]];
const OWN_DOMAIN = "go.filters.example";

const api = (path: string) => `${stack.info().api_url}${path}`;

/** Asks; again while thousands of questions have used up what time refills of the account's budget. */
async function send(path: string, options: CallOptions) {
  for (let waited = 0; ; waited++) {
    const response = await call(api(`/v1/analytics${path}`), options);
    if (response.status !== 429 || waited === SECONDS_MAX) return response;
    await Bun.sleep(1_000);
  }
}

/** How long a question waits: time refills the costliest one's share sooner. */
const SECONDS_MAX = 60;

const get = (path: string, key = account.key, accept = "application/json") =>
  send(path, { key, headers: { accept } });

async function createLink(key: string, body: object = {}) {
  const sent = { url: "https://example.com/", ...body };
  const link = linkSchema.parse((await call(api("/v1/links"), { key, body: sent })).body);
  return { ...link, uuid: decodeId("link", link.id) ?? "" };
}

/** Links with many clicks are read from the rollups. */
const setClicks = (uuid: string, clicks: number) =>
  sql`update link_counters set clicks = ${clicks} where link_id = ${uuid}`;

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(stack, "enterprise", UNLIMITED);
const other = await createAccount(stack, "enterprise", UNLIMITED);
const domain = new URL(stack.info().short_url).host;
const { sql } = stack.database;
const links: { id: string; uuid: string; created: number; tags: string[]; domain: string }[] = [];
for (const [i, tags] of LINK_TAGS.entries()) {
  const { id, uuid } = await createLink(account.key, { tags });
  const created = Date.parse("2024-03-01T12:00Z") + i * 40 * DAY_MS;
  links.push({ id, uuid, created, tags, domain });
  await sql`update links set created_at = ${new Date(created)} where id = ${uuid}`;
  await setClicks(uuid, i === 0 ? 1 : 10_000_000);
}
const [{ id: domain_id }] = await sql<[{ id: string }]>`
    insert into domains (id, account_id, mode, host, verification_value, verified_at)
    values (gen_random_uuid(), ${decodeId("acct", account.id) ?? ""}, 'live', ${OWN_DOMAIN}, 'x', now()) returning id`;
const second = links[1];
if (second !== undefined) {
  await sql`update links set domain_id = ${domain_id} where id = ${second.uuid}`;
  second.domain = OWN_DOMAIN;
}
const clicks = fc.sample(anyClick(Date.now(), links.length), { numRuns: CLICKS, seed: 20_261_122 });
await insertClicks(
  stack,
  account.id,
  links.map(({ uuid }) => uuid),
  clicks,
);

const COLUMNS = [
  "country",
  "region",
  "city",
  "continent",
  "device",
  "browser",
  "os",
  "referrer",
  "referrer_path",
  "language",
  "host",
  "trigger",
  "imported",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
] as const;

type Column = (typeof COLUMNS)[number];

/** What a click has in a column, as clients see it. */
function valueOf(click: Click, column: Column): string {
  const value: unknown = { ...click, ...placeOf(click), utm_term: "" }[column];
  const text = typeof value === "string" ? value : "";
  return text === "" && (column === "region" || column === "city") ? "Unknown" : text;
}

type Filter = { name: Column | "tag" | "domain" | "class"; value: string; negated: boolean };

/** Of a filter: `own` is the service's domain. */
const FILTERS: Record<
  Filter["name"],
  {
    /** Values, of which clicks of the account have the first. */
    values: readonly string[];
    /** Other ways to write the first one. */
    others?: string[];
    /** Values that no click can have, and what their error names in their place. */
    impossible?: string[];
    hint?: string;
  }
> = {
  country: {
    values: ["DE", "US", "ZZ", "AT"],
    others: ["de", "De"],
    // CLDR has names for the last two.
    impossible: ["Germany", "DEU", "XX", "DE,US", " DE", "EU", "SU"],
    hint: "such as DE",
  },
  region: { values: ["Unknown", "BE", "IL"], others: ["unknown", ""] },
  city: { values: ["Unknown", "Springfield", "Munich"], others: ["UNKNOWN", ""] },
  continent: {
    values: ["EU", "NA", ""],
    others: ["eu"],
    impossible: ["Europe", "EU,NA", "XX"],
    hint: "AF, AN, AS, EU, NA, OC, SA",
  },
  device: {
    values: ["mobile", "tablet", "other"],
    others: ["Mobile"],
    impossible: ["phone", "fridge", "mobile,tablet", ""],
    hint: "mobile, desktop, tablet, other",
  },
  browser: { values: ["Chrome", "Unknown", "Lynx"], others: ["chrome", "CHROME"] },
  os: { values: ["macOS", "iOS"], others: ["macos", "MacOS"] },
  referrer: {
    values: ["google.com", "direct", "example.co.uk"],
    others: ["Google.com", "www.google.com"],
  },
  referrer_path: { values: ["", "/news", "/a,b"], others: ["/"] },
  language: {
    values: ["de", ""],
    others: ["DE"],
    impossible: ["de-AT", "German", "de,en"],
    hint: "such as de",
  },
  host: {
    values: ["sho.rt", OWN_DOMAIN],
    others: ["SHO.RT", "sho.rt:443"],
    impossible: ["https://sho.rt", ""],
    hint: "such as go.example.com",
  },
  trigger: { values: ["qr", "link"], others: ["QR"], impossible: ["scan", "qr,link", ""] },
  imported: { values: ["yes", "no"], others: ["YES"], impossible: ["true", "yes,no", ""] },
  utm_source: { values: ["newsletter", "-minus", "\\slash", ""] },
  utm_medium: { values: ["email"] },
  utm_campaign: { values: ["Unknown", "summer"] },
  utm_term: { values: ["", "x"] },
  tag: { values: ["launch", "-odd", "none"] },
  domain: {
    values: [OWN_DOMAIN, "own"],
    others: [OWN_DOMAIN.toUpperCase()],
    impossible: ["other.example", `https://${OWN_DOMAIN}`, `${OWN_DOMAIN},sho.rt`, "", "a b"],
    hint: "such as",
  },
  class: {
    values: ["bot", "human", "prefetch"],
    others: ["Bot"],
    impossible: ["robots", "human,bot", "", "-"],
    hint: "human, bot, prefetch",
  },
};

const anyFilter: fc.Arbitrary<Filter> = fc
  .constantFrom(...COLUMNS, "tag" as const, "domain" as const, "class" as const)
  .chain((name) =>
    fc.record({
      name: fc.constant(name),
      value: fc.constantFrom(...FILTERS[name].values),
      negated: fc.boolean(),
    }),
  );

/**
 * The value as a parameter: `-` negates, and a backslash makes the next character an ordinary one.
 */
const toParameter = ({ name, value, negated }: Filter): [string, string] => {
  const text = name === "domain" && value === "own" ? (links[0]?.domain ?? "") : value;
  return [name, `${negated ? "-" : ""}${/^[-\\]/.test(text) ? "\\" : ""}${text}`];
};

/** The values of a click that a filter by this name looks at. */
function valuesFor(click: Click, name: Filter["name"]): readonly string[] {
  const link = links[click.link];
  if (name === "tag") return link?.tags ?? [];
  if (name === "domain") return [link?.domain === OWN_DOMAIN ? OWN_DOMAIN : "own"];
  return name === "class" ? [click.class] : [valueOf(click, name)];
}

/** Whether a click passes the filters by all names but `class`. */
function passes(click: Click, filters: readonly Filter[]): boolean {
  return [...Map.groupBy(filters, ({ name }) => name)].every(([name, group]) => {
    const values = valuesFor(click, name);
    const has = ({ value }: Filter) => values.includes(value);
    const wanted = group.filter(({ negated }) => !negated);
    return (
      (wanted.length === 0 || wanted.some(has)) && !group.some((each) => each.negated && has(each))
    );
  });
}

/** The classes that are counted as clicks. */
const countedClasses = (filters: readonly Filter[]): string[] => {
  const group = filters.filter(({ name }) => name === "class");
  if (group.length === 0) return ["human"];
  return ["human", "bot", "prefetch"].filter((name) => {
    const wanted = group.filter(({ negated }) => !negated).map(({ value }) => value);
    const refused = group.some(({ negated, value }) => negated && value === name);
    return (wanted.length === 0 || wanted.includes(name)) && !refused;
  });
};

/** Compares lists of names, byte by byte. */
const compareNames = (a: string[], b: string[]): number => {
  const i = a.findIndex((name, at) => name !== b[at]);
  return i < 0 ? 0 : Buffer.compare(Buffer.from(a[i] ?? ""), Buffer.from(b[i] ?? ""));
};

/**
 * Counts clicks by what is read of them: most clicks first, ties in the order of their names, byte
 * by byte, as `toKey` has them.
 */
function rank(
  counted: readonly Click[],
  read: (click: Click) => Record<string, string>,
  limit = Infinity,
  toKey: (name: string, column: string) => string = (name) => name,
) {
  const keysOf = (values: Record<string, string>) =>
    Object.entries(values).map(([column, name]) => toKey(name, column));
  return [...Map.groupBy(counted, (click) => JSON.stringify(read(click)))]
    .map(([key, group]) => ({
      values: z.record(z.string(), z.string()).parse(JSON.parse(key)),
      clicks: group.length,
      unique_clicks: countUnique(group),
      percentage: Math.round((group.length / counted.length) * 1_000) / 10,
    }))
    .toSorted((a, b) => b.clicks - a.clicks || compareNames(keysOf(a.values), keysOf(b.values)))
    .slice(0, limit);
}

/** A breakdown by columns, of which a region has its country too, and a city both. */
function breakDown(counted: readonly Click[], by: readonly Column[], limit?: number) {
  const columns = [...new Set(by.flatMap((name) => [...(WITHIN[name] ?? []), name]))];
  const read = (click: Click) =>
    Object.fromEntries(columns.map((column) => [column, valueOf(click, column)]));
  // What is stored: unknown places come first.
  return rank(counted, read, limit, (name, column) =>
    name === "Unknown" && ["region", "city"].includes(column) ? "" : name,
  );
}

const WITHIN: Partial<Record<Column, Column[]>> = {
  region: ["country"],
  city: ["country", "region"],
};

/** The values with the most clicks, as the lists of one dimension have them. */
const topValues = (
  counted: readonly Click[],
  read: (click: Click) => Record<string, string>,
  limit?: number,
) =>
  rank(counted, read, limit).map(({ values, clicks, percentage }) => ({
    ...values,
    clicks,
    percentage,
  }));

const orUnknown = (text: string): string => (text === "" ? "Unknown" : text);

const readLocation = (group: string) => (click: Click) => {
  const [country, region, region_name, city] = click.place;
  if (group === "country") return { country };
  return group === "region"
    ? { region: orUnknown(region), region_name: orUnknown(region_name), country }
    : { city: orUnknown(city), region: orUnknown(region), country };
};

/** Clicks by weekday, from Monday, and hour, by luxon's rules. */
function heatmapOf(counted: readonly Click[], zone: string): number[][] {
  const heatmap = Array.from({ length: 7 }, () => Array.from({ length: 24 }, () => 0));
  for (const { at } of counted) {
    const local = DateTime.fromMillis(at, { zone });
    const day = heatmap[local.weekday - 1];
    if (day !== undefined) day[local.hour] = (day[local.hour] ?? 0) + 1;
  }
  return heatmap;
}

/** How long a question may take to be asked and answered. */
const CLOCK_MS = 60_000;

const comparisonSchema = z.object({
  comparison: z.object({ to: z.iso.datetime(), current: z.object({ to: z.iso.datetime() }) }),
});

const anyQuestion = fc.record({
  link: fc.option(fc.integer({ min: 0, max: LINK_TAGS.length - 1 }), { nil: undefined }),
  query: fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(anyRange, fc.constantFrom(...ZONES))
        .map(([range, timezone]): Query => ({ ...range, timezone })),
    },
    { weight: 1, arbitrary: anyRangeToChange },
  ),
  filters: fc.array(anyFilter, { maxLength: 4 }),
  kind: fc.constantFrom(undefined, "previous", "year"),
  by: fc.uniqueArray(fc.constantFrom(...COLUMNS), { minLength: 1, maxLength: 2 }),
  group: fc.constantFrom("country", "region", "city"),
  limit: fc.integer({ min: 1, max: 20 }),
});

test(`${QUESTIONS} questions are answered as a count of the clicks does`, async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(anyQuestion, async ({ link, query, filters, kind, by, group, limit }) => {
      const subject = link === undefined ? undefined : links[link];
      const now = Date.now();
      const span = toSpan(query, subject?.created ?? links[0]?.created ?? 0, now);
      const others = filters.filter(({ name }) => name !== "class");
      const withinAll = ({ from, to }: { from: number; to: number }) =>
        clicks.filter((click) => click.at >= from && click.at < to && passes(click, others));
      const within = (part: typeof span) =>
        withinAll(part).filter((click) => link === undefined || click.link === link);
      const classes = countedClasses(filters);
      const found = within(span);
      const counted = found.filter((click) => classes.includes(click.class));
      seen += counted.length;
      const chosen = filters.map(toParameter);
      const parameters = [...Object.entries(query), ...chosen];
      const sent = new URLSearchParams(parameters).toString();
      const compare = query.period === "all" ? undefined : kind;
      const ask = async (path: string, more = "") =>
        (await get(`${subject === undefined ? "" : `/${subject.id}`}${path}?${sent}${more}`)).body;
      const askBulk = async () => {
        const groups = Map.groupBy(chosen, ([name]) => name);
        const values = [...groups].map(([name, group]) => [name, group.map(([, text]) => text)]);
        const body = { link_ids: links.map(({ id }) => id), filters: Object.fromEntries(values) };
        const request = { key: account.key, body: { ...body, ...query } };
        return (await send("/bulk", request)).body;
      };
      const [summary, breakdown, times, geo, devices, referrers, bulk] = await Promise.all([
        ask("", compare === undefined ? "" : `&compare=${compare}`),
        ask("/breakdown", `&by=${by.join(",")}&limit=${limit}`),
        ask("/times"),
        ask("/geo", `&group_by=${group}&limit=${limit}`),
        ask("/devices"),
        ask("/referrers", `&limit=${limit}`),
        askBulk(),
      ]);
      const isDay = query.period === "24h";
      expect(summary).toMatchObject(summarize(found, span, isDay, classes));
      if (subject === undefined)
        expect(topLinks.parse(summary).top_links.toSorted(byClicks)).toEqual(
          rank(counted, ({ link }) => ({ link_id: links[link]?.id ?? "" })).map(
            ({ values, clicks }) => ({ link_id: values["link_id"] ?? "", clicks }),
          ),
        );
      if (compare !== undefined) {
        const { current, to } = comparisonSchema.parse(summary).comparison;
        // The API's clock when it answered, unless the period is over.
        const asked = Date.parse(current.to) === span.to ? now : Date.parse(current.to);
        expect(Math.abs(asked - now)).toBeLessThan(CLOCK_MS);
        const earlier = comparedSpan(query, span, compare, asked);
        expect(to).toBe(new Date(earlier.to).toISOString());
        expect(summary).toMatchObject({
          comparison: {
            from: new Date(earlier.from).toISOString(),
            ...summarize(within(earlier), earlier, isDay, classes),
          },
        });
      }
      expect(breakdown).toMatchObject({
        by,
        total_clicks: counted.length,
        data: breakDown(counted, by, limit),
      });
      const instants = counted.map(({ at }) => at);
      const instant = (at: number) => (counted.length === 0 ? null : new Date(at).toISOString());
      expect(times).toMatchObject({
        first_click_at: instant(Math.min(...instants)),
        last_click_at: instant(Math.max(...instants)),
        heatmap: heatmapOf(counted, query.timezone ?? "UTC"),
      });
      expect(geo).toMatchObject({ data: topValues(counted, readLocation(group), limit) });
      expect(devices).toMatchObject({
        devices: topValues(counted, ({ device }) => ({ type: device })),
        browsers: topValues(counted, ({ browser }) => ({ name: browser })),
        os: topValues(counted, ({ os }) => ({ name: os })),
      });
      expect(referrers).toMatchObject({
        referrers: topValues(counted, ({ referrer }) => ({ source: referrer }), limit),
      });
      // In bulk, the period "all" starts with the first link.
      const ofAll = withinAll(toSpan(query, links[0]?.created ?? 0, now));
      const data = links.map(({ id }, i) => {
        const own = ofAll.filter((click) => click.link === i && classes.includes(click.class));
        const countries = rank(own, readLocation("country"), 5);
        return {
          link_id: id,
          clicks: own.length,
          unique_clicks: countUnique(own),
          top_countries: countries.map(({ values }) => values["country"]),
        };
      });
      expect(bulk).toEqual({ data });
    }),
    { numRuns: QUESTIONS, seed: SEED },
  );
  expect(seen).toBeGreaterThan(LONG ? CLICKS / 10 : 0);
});

const topLinks = z.object({
  top_links: z.array(z.object({ link_id: z.string(), clicks: z.int() })),
});

/** Of links with as many clicks, that with the lower id first, as `rank` has it. */
const byClicks = (a: { link_id: string; clicks: number }, b: typeof a): number =>
  b.clicks - a.clicks || (a.link_id < b.link_id ? -1 : 1);

test("bots and prefetches count on a day on which no person follows the selected links", async () => {
  const filters: Filter[] = [{ name: "tag", value: "launch", negated: true }];
  const selected = clicks.filter((click) => passes(click, filters));
  const byDay = Map.groupBy(selected, ({ at }) => new Date(at).toISOString().slice(0, 10));
  const days = [...byDay].filter(([, found]) => found.every((click) => click.class !== "human"));
  expect(days.length).toBeGreaterThan(0);
  for (const [day, found] of days.slice(0, 5)) {
    const { body } = await get(`?start_date=${day}&end_date=${day}&tag=-launch`);
    const countOf = (name: string) => found.filter((click) => click.class === name).length;
    const bots = { bot_clicks: countOf("bot"), prefetch_clicks: countOf("prefetch") };
    expect(body).toMatchObject({ summary: { total_clicks: 0, ...bots } });
  }
});

/** The analytics of all clicks with each of these values of a filter. */
const ask = (name: string, values: readonly string[]) => {
  const query = values.map((value) => `&${name}=${encodeURIComponent(value)}`).join("");
  return get(`?start_date=2024-09-01&end_date=2026-12-31${query}`);
};

describe("a filter", () => {
  const from = Date.parse("2024-09-01");
  const names = Object.keys(FILTERS) as Filter["name"][]; // The type has no other keys.

  /** The clicks that a filter leaves, by the reference. */
  function countOf(name: Filter["name"], value: string, negated: boolean): number {
    const filters = [{ name, value, negated }];
    const classes = countedClasses(filters);
    return clicks.filter(
      (click) =>
        click.at >= from &&
        classes.includes(click.class) &&
        (name === "class" || passes(click, filters)),
    ).length;
  }

  test.each(names)(
    "%s counts right however its value is written, excluded and repeated",
    async (name) => {
      const { values, others = [] } = FILTERS[name];
      const [value = ""] = values;
      const [only, but] = [countOf(name, value, false), countOf(name, value, true)];
      expect(only).toBeGreaterThan(0);
      const ways: [string[], number][] = [
        [[value], only],
        [[`-${value}`], but],
        [[value, value], only],
        [[`\\${value}`], only],
        ...others.map((text): [string[], number] => [[text], only]),
      ];
      const found = await Promise.all(ways.map(([values]) => ask(name, values)));
      expect(found.map(({ body }) => body)).toMatchObject(
        ways.map(([, total_clicks]) => ({ summary: { total_clicks } })),
      );
    },
  );

  test.each(names.filter((name) => FILTERS[name].impossible !== undefined))(
    "%s refuses a value that no click can have, and names what it takes",
    async (name) => {
      const { values, impossible = [], hint = "" } = FILTERS[name];
      for (const text of impossible)
        for (const sent of [[text], [`-${text}`], [values[0] ?? "", text]]) {
          const { status, body } = await ask(name, sent);
          const error = { code: "invalid_request", param: name };
          expect([text, status, body]).toMatchObject([text, 400, { error }]);
          expect(JSON.stringify(body)).toContain(hint);
        }
    },
  );
});

const clickSchema = z.object({ id: z.string(), time: z.string(), link_id: z.string() });
const clicksPage = z.object({
  data: z.array(clickSchema.loose()),
  next_cursor: z.string().nullable(),
});

const exportClicks = (query: string, key = account.key) =>
  call(api(`/v1/clicks/export?${query}`), { key });

describe("single clicks", () => {
  const SINCE = "start_date=2024-01-01&end_date=2026-12-31";

  test("are listed newest first, each once, across pages", async () => {
    const expected = clicks
      .filter((click) => click.class === "bot" && valueOf(click, "language") === "de")
      .map(({ at }) => at)
      .toSorted((a, b) => b - a);
    const listed: z.output<typeof clickSchema>[] = [];
    const limit = (expected.length / 3 + 1) | 0;
    for (let after: string | null = ""; after !== null;) {
      const query = `${SINCE}&class=bot&language=de&limit=${limit}${after}`;
      const { body } = await call(api(`/v1/clicks?${query}`), { key: account.key });
      const { data, next_cursor } = clicksPage.parse(body);
      listed.push(...data);
      after = next_cursor === null ? null : `&starting_after=${next_cursor}`;
    }
    expect(listed.map(({ time }) => Date.parse(time))).toEqual(expected);
    expect(new Set(listed.map(({ id, link_id }) => `${id} ${link_id}`)).size).toBe(expected.length);
    expect(listed[0]).not.toContainKeys(["visitor", "ip", "user_agent"]);
  });

  test("are exported as lines of JSON, all of a range", async () => {
    const expected = clicks.map(
      (click) =>
        `${links[click.link]?.id} ${new Date(click.at).toISOString()} ${valueOf(click, "utm_source")}`,
    );
    const { headers, body } = await exportClicks(SINCE);
    expect(headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    const exported = String(body)
      .trim()
      .split("\n")
      .map((line) => clickSchema.extend({ utm_source: z.string() }).parse(JSON.parse(line)))
      .map(({ link_id, time, utm_source }) => `${link_id} ${time} ${utm_source}`);
    expect(exported.toSorted()).toEqual(expected.toSorted());
  });

  test("of one link are exported as CSV", async () => {
    const { body } = await call(api(`/v1/clicks?${SINCE}&link_id=${links[0]?.id}&limit=3`), {
      key: account.key,
      headers: { accept: "text/csv" },
    });
    const [header, ...lines] = String(body).trim().split("\r\n");
    expect(header).toStartWith("id,time,link_id,class,class_reason,country,");
    expect(lines).toHaveLength(3);
  });
});

test("a breakdown's pages together have every value once", async () => {
  const page = z.object({
    data: z.array(z.object({ values: z.record(z.string(), z.string()), clicks: z.number() })),
    total_clicks: z.number(),
    next_cursor: z.string().nullable(),
  });
  const rows = [];
  let total = 0;
  for (let after: string | null = ""; after !== null;) {
    const { body } = await get(`/breakdown?period=all&by=city,os&limit=7${after}`);
    const { data, next_cursor, total_clicks } = page.parse(body);
    rows.push(...data);
    after = next_cursor === null ? null : `&starting_after=${next_cursor}`;
    total = total_clicks;
  }
  expect(new Set(rows.map(({ values }) => JSON.stringify(values))).size).toBe(rows.length);
  expect(rows.reduce((sum, row) => sum + row.clicks, 0)).toBe(total);
});

/** Clicks of people, which are like any others. */
const humansAt = (at: number, ...of: number[]): Click[] =>
  of.map((link) => ({ ...(clicks[0] ?? fail()), at, link, class: "human" as const }));

const fail = (): never => {
  throw new Error("There are no clicks.");
};

test("a breakdown by link names the links that exist, for keys that may read links", async () => {
  const { id, key } = await createAccount(stack, "pro");
  const kept = await createLink(key, { title: "=Kept" });
  const gone = await createLink(key);
  await insertClicks(stack, id, [kept.uuid, gone.uuid], humansAt(Date.now() - 1_000, 0, 0, 1));
  await call(api(`/v1/links/${gone.id}`), { key, method: "DELETE" });

  const names = [
    { short_url: kept.short_url, title: "=Kept" },
    { short_url: null, title: null },
  ];
  expect((await get("/breakdown?by=link", key)).body).toMatchObject({
    data: [
      { values: { link: kept.id }, link: names[0], clicks: 2 },
      { values: { link: gone.id }, link: names[1], clicks: 1 },
    ],
  });
  expect((await get("/breakdown?by=link,os&limit=1", key)).body).toMatchObject({
    data: [{ link: names[0], values: { link: kept.id } }],
  });
  expect((await get("", key)).body).toMatchObject({
    top_links: [
      { link_id: kept.id, ...names[0], clicks: 2 },
      { link_id: gone.id, ...names[1], clicks: 1 },
    ],
  });
  expect((await get("/breakdown?by=link&limit=1", key, "text/csv")).body).toBe(
    `link,clicks,unique_clicks,percentage,short_url,title\r\n${kept.id},2,1,66.7,${kept.short_url},'=Kept\r\n`,
  );
  const { key: reader } = await createKey(stack, id, "analytics:read");
  const unnamed = await get("/breakdown?by=link", reader);
  expect(unnamed.body).toMatchObject({ data: [{ link: names[1] }, { link: names[1] }] });
  expect(JSON.stringify((await get("", reader)).body)).not.toContain("Kept");
});

test("a breakdown has the clicks of the last second of a UTC day in which its first day begins", async () => {
  const { id, key } = await createAccount(stack, "enterprise", UNLIMITED);
  const link = await createLink(key);
  await setClicks(link.uuid, 10_000_000);
  // Alone in their month: no part of the table has other clicks beside them.
  const late = humansAt(Date.parse("2023-06-09T23:59:59.400Z"), 0, 0, 0);
  await insertClicks(stack, id, [link.uuid], late);
  const range = "start_date=2023-06-10&end_date=2023-06-11&timezone=Asia/Kolkata";
  expect((await get(`/${link.id}/geo?${range}`, key)).body).toMatchObject({
    data: topValues(late, readLocation("country")),
  });
});

test("tags and domains have the clicks and visitors of their links", async () => {
  const since = Date.parse("2024-09-01");
  const humans = clicks.filter((click) => click.class === "human" && click.at >= since);
  const rowOf = (name: "tag" | "domain", value: string) => {
    const found = humans.filter(({ link }) =>
      name === "tag" ? links[link]?.tags.includes(value) : links[link]?.domain === value,
    );
    return { values: { [name]: value }, clicks: found.length, unique_clicks: countUnique(found) };
  };
  for (const [name, values] of [
    ["tag", ["launch", "-odd", "paid"]],
    ["domain", [domain, OWN_DOMAIN]],
  ] as const) {
    const { body } = await get(`/breakdown?start_date=2024-09-01&end_date=2026-12-31&by=${name}`);
    const data = values.map((value) => rowOf(name, value));
    expect(body).toMatchObject({ by: [name], data: data.toSorted((a, b) => b.clicks - a.clicks) });
  }
});

longTest("a tag of 10,000 links selects their clicks, and excludes them", async () => {
  const crowd = await createAccount(stack, "enterprise", UNLIMITED);
  const ids = Array.from({ length: 10_001 }, () => newUuid());
  await sql`
    insert into links (id, account_id, mode, alias, original_url, target_url, tags, version, created_at, updated_at)
    select id, ${decodeId("acct", crowd.id) ?? ""}::uuid, 'live', 'crowd-' || i, 'https://example.com/',
           'https://example.com/', case when i = 10001 then '{}'::text[] else '{crowd}' end,
           nextval('link_version'), '2024-01-01', now()
      from unnest(${ids}::uuid[]) with ordinality as given (id, i)`;
  const some = fc
    .sample(anyClick(Date.now(), 2), { numRuns: 300, seed: 1 })
    .map((click, i) => ({ ...click, link: i % 3 === 0 ? 10_000 : i * 30 }));
  await insertClicks(stack, crowd.id, ids, some);
  const humans = some.filter((click) => click.class === "human");
  const tagged = humans.filter(({ link }) => link < 10_000);
  for (const [filter, count] of [
    ["", humans.length],
    ["&tag=crowd", tagged.length],
    ["&tag=-crowd", humans.length - tagged.length],
  ] as const) {
    const { status, body } = await get(`/breakdown?period=all&by=device${filter}`, crowd.key);
    expect([status, body]).toMatchObject([200, { total_clicks: count }]);
  }
});

longTest(
  "visitors of a link with more clicks than are counted exactly are correct within 1.5 percent",
  async () => {
    const crowd = await createAccount(stack, "enterprise", UNLIMITED);
    const account_id = decodeId("acct", crowd.id);
    const { id, uuid } = await createLink(crowd.key);
    await setClicks(uuid, 10_000_000);
    await sql`update links set created_at = '2024-09-16' where id = ${uuid}`;
    await insert(
      stack,
      `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, segment, idx)
       SELECT now64(3, 'UTC') - 86400 * 5 - number % 2000000, '${uuid}', '${account_id}', 'live',
              'human', sipHash64(number % ${MANY.visitors}), 'DE', 'mobile', '${account_id}', 1, 0
         FROM numbers(${MANY.clicks})
       SETTINGS max_partitions_per_insert_block = 0`,
      "",
    );
    // The second range ends now, within an hour, whose clicks are read one by one.
    const start = new Date(Date.now() - 90 * DAY_MS).toISOString().slice(0, 10);
    for (const range of ["period=90d", `start_date=${start}`]) {
      const { body } = await get(`/${id}?${range}`, crowd.key);
      const { summary } = z
        .object({ summary: z.object({ total_clicks: z.number(), unique_clicks: z.number() }) })
        .parse(body);
      expect(summary.total_clicks).toBe(MANY.clicks);
      expect(Math.abs(summary.unique_clicks / MANY.visitors - 1)).toBeLessThan(0.015);
    }
  },
);

describe("analytics as CSV", () => {
  test("contain the same data as JSON", async () => {
    const path = `/${links[0]?.id}?start_date=2026-03-01&end_date=2026-03-31`;
    const { clicks_over_time } = z
      .object({ clicks_over_time: z.array(z.record(z.string(), z.unknown())) })
      .parse((await get(path)).body);
    const { headers, body } = await get(path, account.key, "text/csv");
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("x-ratelimit-limit")).not.toBeNull();
    expect(String(body).split("\r\n")).toEqual([
      "date,clicks,unique",
      ...clicks_over_time.map((day) => Object.values(day).join(",")),
      "",
    ]);
  });

  test.each([
    ["", "date,clicks,unique"],
    ["/geo?group_by=city", "city,region,country,clicks,percentage"],
    ["/devices", "dimension,name,clicks,percentage"],
    ["/referrers", "source,clicks,percentage"],
  ])("of %p have the columns %s", async (path, header) => {
    const { body } = await get(path, account.key, "text/csv");
    const lines = String(body).trim().split("\r\n");
    expect([lines[0], lines.length > 1]).toEqual([header, true]);
  });

  test("report errors as JSON", async () => {
    const { status, headers } = await get("?period=never", account.key, "text/csv");
    expect(status).toBe(400);
    expect(headers.get("content-type")).toContain("application/json");
  });
});

describe("a question", () => {
  const LINK = links[0]?.id ?? "";

  /** With the parameters at fault, where the response names each. */
  test.each<[path: string, ...params: string[]]>([
    ["/breakdown?by=os&class=robots", "class"],
    [`/breakdown?by=os&${"country=DE&".repeat(101)}`],
    ["/breakdown?by=shoe_size"],
    ["/breakdown?by=country,city,os"],
    ["/breakdown?by=os,os"],
    ["/breakdown?by=tag,os"],
    ["/breakdown?by=os&starting_after=me"],
    [`/${LINK}?period=1y`, "period"],
    [`/${LINK}?timezone=Mars/Olympus`, "timezone"],
    [`/${LINK}?timezone=%2B02:00`, "timezone"],
    [`/${LINK}?start_date=2026-02-30`, "start_date"],
    [`/${LINK}?start_date=-000001-01-01T00:00:00Z`, "start_date"],
    [`/${LINK}?end_date=soon`, "end_date"],
    [`/${LINK}?end_date=9999-12-31`, "end_date"],
    [`/${LINK}?end_date=%2B275760-09-12T23:59:59Z`, "end_date"],
    [`/${LINK}?start_date=2026-03-02&end_date=2026-03-01`, "start_date"],
    [`/${LINK}?start_date=2020-01-01&end_date=2026-01-01`, "start_date"],
    [`/${LINK}?start_date=2100-01-01`, "start_date"],
    [
      `/${LINK}?period=1y&start_date=x&timezone=y&class=z`,
      "period",
      "start_date",
      "timezone",
      "class",
    ],
    [`/${LINK}/geo?group_by=street`],
    [`/${LINK}/geo?limit=0`],
    [`/${LINK}/geo?limit=101`],
    ["?limit=101"],
  ])("is refused, and every parameter at fault is named: %s", async (path, ...params) => {
    const { status, body } = await get(path);
    const details = params.map((param) => ({ param }));
    const named = params.length === 0 ? {} : { param: params[0], details };
    expect([status, body]).toMatchObject([400, { error: { code: "invalid_request", ...named } }]);
  });

  const VIEWS = ["", "/geo", "/devices", "/referrers", "/times", "/breakdown"];

  test.each([
    ...VIEWS.map((view) => `/v1/analytics${view}`),
    ...[...VIEWS, "/targets", "/stream"].map((view) => `/v1/analytics/${LINK}${view}`),
    "/v1/clicks",
    "/v1/clicks/export",
  ])("with filters that no click can pass is refused with every fault by %s", async (path) => {
    const by = path.endsWith("/breakdown") ? "&by=os" : "";
    const query = `?country=DE,FR&device=phone&class=people${by}`;
    const { status, body } = await call(api(path + query), { key: account.key });
    const details = ["country", "device", "class"].map((param) => ({ param }));
    expect([status, body]).toMatchObject([400, { error: { param: "country", details } }]);
  });

  test.each<[string, object]>([
    ["nothing", {}],
    ["no links", { link_ids: [] }],
    ["a link twice", { link_ids: [LINK, LINK] }],
    ["too many links", { link_ids: Array.from({ length: 1_001 }, () => LINK) }],
    ["an unknown metric", { link_ids: [LINK], metrics: ["revenue"] }],
    ["an unknown period", { link_ids: [LINK], period: "1y" }],
    ["an unknown time zone", { link_ids: [LINK], timezone: "Mars/Phobos" }],
    ["no continent", { link_ids: [LINK], filters: { continent: ["EU", "Europe"] } }],
  ])("in bulk about %s is refused", async (_, body) => {
    const response = await call(api("/v1/analytics/bulk"), { key: account.key, body });
    expect(codeOf(response)).toEqual([400, "invalid_request"]);
    if ("filters" in body)
      expect(response.body).toMatchObject({ error: { param: "filters.continent" } });
  });

  /** That another account's link, or the other mode's, is found by none is in `access.test.ts`. */
  test("of another account, or of the other mode, is about its own clicks alone", async () => {
    const scopes = "analytics:read,links:write";
    const { key: testKey } = await createKey(stack, account.id, scopes, { type: "test" });
    // Their own links with the same tag have no clicks.
    for (const key of [other.key, testKey]) await createLink(key, { tags: ["launch"] });
    const nothing: [string, object][] = [
      ["?", { summary: { total_clicks: 0, bot_clicks: 0 }, top_links: [] }],
      ["/geo?", { data: [] }],
      ["/devices?", { devices: [], browsers: [], os: [] }],
      ["/referrers?", { referrers: [] }],
      ...["os", "link", "tag", "domain"].map((by): [string, object] => [
        `/breakdown?by=${by}&`,
        { total_clicks: 0, data: [] },
      ]),
      ["/times?", { first_click_at: null }],
    ];
    const range = "start_date=2024-09-01&end_date=2026-12-31";
    for (const key of [other.key, testKey]) {
      expect((await get(`?domain=${OWN_DOMAIN}`, key)).status).toBe(400);
      for (const filter of ["", "&country=DE", "&tag=launch", "&class=bot", "&tag=-none"]) {
        const query = range + filter;
        for (const [path, expected] of nothing)
          expect((await get(path + query, key)).body).toMatchObject(expected);
        expect((await call(api(`/v1/clicks?${query}`), { key })).body).toMatchObject({ data: [] });
        expect((await exportClicks(query, key)).body).toBe("");
      }
      for (const [name, { values }] of Object.entries({
        ...FILTERS,
        domain: { values: [domain] },
      })) {
        const filter = `${name}=${encodeURIComponent(values[0] ?? "")}`;
        const { body } = await get(`/breakdown?by=city&${range}&${filter}`, key);
        expect(body).toMatchObject({ total_clicks: 0, data: [] });
      }
    }
  });
});
