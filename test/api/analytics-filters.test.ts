/**
 * Goal: every question with filters, comparisons and breakdowns is answered correctly, and of one's
 * own clicks only. Method: random clicks, and a reference that counts them one by one.
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
  type Click,
  countUnique,
  DAY_MS,
  insertClicks,
  placeOf,
  type Query,
  summarize,
  toSpan,
  ZONES,
} from "../harness/analytics-reference.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call, codeOf, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { casesOf, LONG, longTest } from "../harness/property-runs.ts";
import { SEED } from "../harness/seed.ts";

const CLICKS = casesOf(12_000, 4_000);
const QUESTIONS = casesOf(1_000, 12);

/** Tags of the links; the second one is on an own domain. */
const LINK_TAGS = [["launch"], ["launch", "-odd"], [], ["paid"]];
const OWN_DOMAIN = "go.filters.example";

const api = (path: string) => `${stack.info().api_url}${path}`;
const get = async (path: string, key = account.key) =>
  await call(api(`/v1/analytics${path}`), { key });

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(stack, "enterprise", UNLIMITED);
const other = await createAccount(stack, "enterprise", UNLIMITED);
const domain = new URL(stack.info().short_url).host;
const links: { id: string; uuid: string; created: number; tags: string[]; domain: string }[] = [];
for (const [i, tags] of LINK_TAGS.entries()) {
  const body = { url: `https://example.com/${i}`, tags };
  const { id } = linkSchema.parse((await call(api("/v1/links"), { key: account.key, body })).body);
  const created = Date.parse("2024-03-01T12:00Z") + i * 40 * DAY_MS;
  links.push({ id, uuid: decodeId("link", id) ?? "", created, tags, domain });
}
const { sql } = stack.database;
for (const [i, { uuid, created }] of links.entries()) {
  await sql`update links set created_at = ${new Date(created)} where id = ${uuid}`;
  // Links with many clicks are read from the rollups: here most of them.
  await sql`update link_counters set clicks = ${i === 0 ? 1 : 10_000_000} where link_id = ${uuid}`;
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

const VALUES: Record<Filter["name"], readonly string[]> = {
  country: ["DE", "US", "ZZ", "AT"],
  region: ["BE", "IL", "Unknown"],
  city: ["Springfield", "Unknown", "Munich"],
  continent: ["EU", "NA", ""],
  device: ["mobile", "tablet", "other"],
  browser: ["Chrome", "Unknown", "Lynx"],
  os: ["iOS", "macOS"],
  referrer: ["direct", "example.co.uk"],
  referrer_path: ["/news", "/a,b", ""],
  language: ["de", ""],
  host: ["sho.rt", "go.filters.example"],
  trigger: ["link", "qr"],
  imported: ["no", "yes"],
  utm_source: ["newsletter", "-minus", "\\slash", ""],
  utm_medium: ["email"],
  utm_campaign: ["summer", "Unknown"],
  utm_term: ["", "x"],
  tag: ["launch", "-odd", "none"],
  domain: ["own", OWN_DOMAIN],
  class: ["human", "bot", "prefetch"],
};

const anyFilter: fc.Arbitrary<Filter> = fc
  .constantFrom(...COLUMNS, "tag" as const, "domain" as const, "class" as const)
  .chain((name) =>
    fc.record({
      name: fc.constant(name),
      value: fc.constantFrom(...VALUES[name]),
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

/** The columns of a dimension, as a breakdown's values name them. */
const columnsOf = (dimension: Column): Column[] => {
  if (dimension === "region") return ["country", "region"];
  return dimension === "city" ? ["country", "region", "city"] : [dimension];
};

/** What is stored, which ties are sorted by: unknown places first. */
const sortKey = (value: string): string => (value === "Unknown" ? "" : value);

function breakDown(counted: readonly Click[], columns: readonly Column[], limit: number) {
  const read = (click: Click) =>
    Object.fromEntries(columns.map((column) => [column, valueOf(click, column)]));
  return [...Map.groupBy(counted, (click) => JSON.stringify(read(click))).values()]
    .map((group) => ({
      values: group[0] === undefined ? {} : read(group[0]),
      clicks: group.length,
      unique_clicks: countUnique(group),
      percentage: Math.round((group.length / counted.length) * 1_000) / 10,
    }))
    .toSorted(
      (a, b) =>
        b.clicks - a.clicks ||
        columns
          .map((column) =>
            ["region", "city"].includes(column)
              ? compare(sortKey(a.values[column] ?? ""), sortKey(b.values[column] ?? ""))
              : compare(a.values[column] ?? "", b.values[column] ?? ""),
          )
          .find((order) => order !== 0) ||
        0,
    )
    .slice(0, limit);
}

const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

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

const isMidnight = (at: DateTime): boolean => at.startOf("day").toMillis() === at.toMillis();

/**
 * The same local time a year earlier; of a day that begins at another time than midnight, the start
 * of that day.
 */
function yearBefore(at: DateTime): DateTime {
  const before = at.minus({ years: 1 });
  return isMidnight(at) ? before.startOf("day") : before;
}

/** The span that a span is compared with: while it lasts, up to the same moment as `now`. */
function compared(query: Query, span: ReturnType<typeof toSpan>, kind: string, now: number) {
  const zone = query.timezone ?? "UTC";
  const [from, to, at] = [span.from, span.to, Math.max(now, span.from)].map((instant) =>
    DateTime.fromMillis(instant, { zone }),
  );
  if (from === undefined || to === undefined || at === undefined) throw new Error("No span.");
  if (query.period === "24h") {
    // From the hour before, or from the last hour a year earlier.
    const last = kind === "previous" ? span.from - 1 : to.minus({ years: 1 }).toMillis() - 1;
    const before = toSpan(query, 0, last);
    return { ...before, to: before.to - (span.to - now) };
  }
  const [start, end] =
    kind === "year"
      ? [yearBefore(from), yearBefore(DateTime.min(at, to))]
      : previous(query, from, to, at);
  const custom = { start_date: start.toUTC().toISO() ?? "", end_date: end.toUTC().toISO() ?? "" };
  return toSpan({ timezone: zone, ...custom }, 0, now);
}

/** The start and the end of the period before, as far as the period has come `at` an instant. */
function previous({ period }: Query, from: DateTime, to: DateTime, at: DateTime) {
  if (!isMidnight(from) || !isMidnight(to)) {
    const start = from.minus({ milliseconds: to.toMillis() - from.toMillis() });
    return [start, DateTime.min(from, start.plus({ milliseconds: +at - +from }))] as const;
  }
  const daysTo = (instant: DateTime) =>
    Math.round(instant.startOf("day").diff(from.startOf("day"), "days").days);
  const areMonths = period === undefined && from.day === 1 && to.day === 1;
  const length = areMonths
    ? { months: (to.year - from.year) * 12 + to.month - from.month }
    : { days: daysTo(to) };
  const start = from.minus(length).startOf("day");
  if (at >= to) return [start, from] as const;
  const { hour, minute, second, millisecond } = at;
  const moment = start.plus({ days: daysTo(at) }).set({ hour, minute, second, millisecond });
  return [start, DateTime.min(from, moment)] as const;
}

const comparisonSchema = z.object({
  comparison: z.object({ to: z.iso.datetime(), current: z.object({ to: z.iso.datetime() }) }),
});

const anyQuestion = fc.record({
  link: fc.option(fc.integer({ min: 0, max: LINK_TAGS.length - 1 }), { nil: undefined }),
  range: anyRange,
  timezone: fc.constantFrom(...ZONES),
  filters: fc.array(anyFilter, { maxLength: 4 }),
  compare: fc.constantFrom(undefined, "previous", "year"),
  by: fc.uniqueArray(fc.constantFrom(...COLUMNS), { minLength: 1, maxLength: 2 }),
  limit: fc.integer({ min: 1, max: 20 }),
});

test(`${QUESTIONS} questions with filters are answered as a count of the clicks does`, async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(
      anyQuestion,
      async ({ link, range, timezone, filters, by, limit, ...rest }) => {
        const query: Query = { ...range, timezone };
        const subject = link === undefined ? undefined : links[link];
        const now = Date.now();
        const span = toSpan(query, subject?.created ?? links[0]?.created ?? 0, now);
        const within = ({ from, to }: { from: number; to: number }) =>
          clicks.filter(
            (click) =>
              (link === undefined || click.link === link) &&
              click.at >= from &&
              click.at < to &&
              passes(
                click,
                filters.filter(({ name }) => name !== "class"),
              ),
          );
        const classes = countedClasses(filters);
        const found = within(span);
        const counted = found.filter((click) => classes.includes(click.class));
        seen += counted.length;
        const parameters = new URLSearchParams([
          ...Object.entries(query),
          ...filters.map(toParameter),
        ]).toString();
        const compare = query.period === "all" ? undefined : rest.compare;
        const path = subject === undefined ? "" : `/${subject.id}`;
        const [summary, breakdown, times] = await Promise.all([
          get(`${path}?${parameters}${compare === undefined ? "" : `&compare=${compare}`}`),
          get(`${path}/breakdown?${parameters}&by=${by.join(",")}&limit=${limit}`),
          get(`${path}/times?${parameters}`),
        ]);
        expect(summary.body).toMatchObject(summarize(found, span, query.period === "24h", classes));
        if (compare !== undefined) {
          const { current, to } = comparisonSchema.parse(summary.body).comparison;
          // The API's clock when it answered, unless the period is over.
          const asked = Date.parse(current.to) === span.to ? now : Date.parse(current.to);
          expect(Math.abs(asked - now)).toBeLessThan(CLOCK_MS);
          const earlier = compared(query, span, compare, asked);
          expect(to).toBe(new Date(earlier.to).toISOString());
          expect(summary.body).toMatchObject({
            comparison: {
              from: new Date(earlier.from).toISOString(),
              to: new Date(earlier.to).toISOString(),
              ...summarize(within(earlier), earlier, query.period === "24h", classes),
            },
          });
        }
        const columns = [...new Set(by.flatMap(columnsOf))];
        expect(breakdown.body).toMatchObject({
          by,
          total_clicks: counted.length,
          data: breakDown(counted, columns, limit),
        });
        const instants = counted.map(({ at }) => at);
        const instant = (at: number) => (counted.length === 0 ? null : new Date(at).toISOString());
        expect(times.body).toMatchObject({
          first_click_at: instant(Math.min(...instants)),
          last_click_at: instant(Math.max(...instants)),
          heatmap: heatmapOf(counted, timezone),
        });
      },
    ),
    { numRuns: QUESTIONS, seed: SEED },
  );
  expect(seen).toBeGreaterThan(LONG ? CLICKS / 10 : 0);
});

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

/**
 * Values that clicks of the account have, or do not have, and other ways to write them; `own` is
 * the service's domain.
 */
const WAYS: Record<Filter["name"], { value: string; others?: string[]; impossible?: string[] }> = {
  country: {
    value: "DE",
    others: ["de", "De"],
    impossible: ["Germany", "DEU", "XX", "DE,US", " DE"],
  },
  region: { value: "Unknown", others: ["unknown", ""] },
  city: { value: "Unknown", others: ["UNKNOWN", ""] },
  continent: { value: "EU", others: ["eu"], impossible: ["Europe", "EU,NA", "XX"] },
  device: {
    value: "mobile",
    others: ["Mobile"],
    impossible: ["phone", "fridge", "mobile,tablet", ""],
  },
  browser: { value: "Chrome", others: ["chrome", "CHROME"] },
  os: { value: "macOS", others: ["macos", "MacOS"] },
  referrer: { value: "google.com", others: ["Google.com", "www.google.com"] },
  referrer_path: { value: "", others: ["/"] },
  language: { value: "de", others: ["DE"], impossible: ["de-AT", "German", "de,en"] },
  host: { value: "sho.rt", others: ["SHO.RT", "sho.rt:443"], impossible: ["https://sho.rt", ""] },
  trigger: { value: "qr", others: ["QR"], impossible: ["scan", "qr,link", ""] },
  imported: { value: "yes", others: ["YES"], impossible: ["true", "yes,no", ""] },
  utm_source: { value: "newsletter" },
  utm_medium: { value: "email" },
  utm_campaign: { value: "Unknown" },
  utm_term: { value: "" },
  tag: { value: "launch" },
  domain: {
    value: OWN_DOMAIN,
    others: [OWN_DOMAIN.toUpperCase()],
    impossible: ["other.example", `https://${OWN_DOMAIN}`, `${OWN_DOMAIN},sho.rt`, ""],
  },
  class: { value: "bot", others: ["Bot"], impossible: ["robots", "human,bot", ""] },
};

describe("a filter", () => {
  const SINCE = "start_date=2024-09-01&end_date=2026-12-31";
  const from = Date.parse("2024-09-01");
  const names = Object.keys(WAYS) as Filter["name"][]; // The type has no other keys.

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

  async function ask(name: string, values: readonly string[]) {
    const query = values.map((value) => `${name}=${encodeURIComponent(value)}`).join("&");
    return await get(`?${SINCE}&${query}`);
  }

  test.each(names)(
    "%s counts right however its value is written, excluded and repeated",
    async (name) => {
      const { value, others = [] } = WAYS[name];
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

  test.each(names.filter((name) => WAYS[name].impossible !== undefined))(
    "%s refuses a value that no click can have, and names what it takes",
    async (name) => {
      for (const text of WAYS[name].impossible ?? []) {
        for (const values of [[text], [`-${text}`], [WAYS[name].value, text]]) {
          const { status, body } = await ask(name, values);
          expect([text, status, body]).toMatchObject([
            text,
            400,
            { error: { code: "invalid_request", param: name } },
          ]);
          expect(JSON.stringify(body)).toContain(EXPECTED[name] ?? "");
        }
      }
    },
  );
});

/** What an error names of the values that a filter takes. */
const EXPECTED: Partial<Record<Filter["name"], string>> = {
  country: "such as DE",
  continent: "AF, AN, AS, EU, NA, OC, SA",
  device: "mobile, desktop, tablet, other",
  language: "such as de",
  host: "such as go.example.com",
  domain: "such as",
  class: "human, bot, prefetch",
};

const ndjson = async (query: string, key = account.key) =>
  await fetch(api(`/v1/clicks/export?${query}`), {
    headers: { authorization: `Bearer ${key}` },
  });

const clickSchema = z.object({ id: z.string(), time: z.string(), link_id: z.string() });
const clicksPage = z.object({
  data: z.array(clickSchema.loose()),
  next_cursor: z.string().nullable(),
});

describe("single clicks", () => {
  const SINCE = "start_date=2024-01-01&end_date=2026-12-31";

  test("are listed newest first, each once, across pages", async () => {
    const expected = clicks
      .filter((click) => click.class === "bot" && valueOf(click, "language") === "de")
      .map(({ at }) => at)
      .toSorted((a, b) => b - a);
    const listed: z.output<typeof clickSchema>[] = [];
    let cursor: string | null = null;
    do {
      const after: string = cursor === null ? "" : `&starting_after=${cursor}`;
      const { body } = await call(
        api(
          `/v1/clicks?${SINCE}&class=bot&language=de&limit=${(expected.length / 3 + 1) | 0}${after}`,
        ),
        { key: account.key },
      );
      const page = clicksPage.parse(body);
      listed.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(listed.map(({ time }) => Date.parse(time))).toEqual(expected);
    expect(new Set(listed.map(({ id, link_id }) => `${id} ${link_id}`)).size).toBe(expected.length);
    expect(listed[0]).not.toContainKeys(["visitor", "ip", "user_agent"]);
  });

  test("are exported as lines of JSON, all of a range", async () => {
    const expected = clicks
      .map(
        (click) =>
          `${links[click.link]?.id} ${new Date(click.at).toISOString()} ${valueOf(click, "utm_source")}`,
      )
      .toSorted();
    const response = await ndjson(SINCE);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    const lines = (await response.text()).trim().split("\n");
    const exported = lines.map((line) => {
      const { link_id, time, utm_source } = clickSchema
        .extend({ utm_source: z.string() })
        .parse(JSON.parse(line));
      return `${link_id} ${time} ${utm_source}`;
    });
    expect(exported.toSorted()).toEqual(expected);
  });

  test("of one link are exported as CSV", async () => {
    const response = await fetch(api(`/v1/clicks?${SINCE}&link_id=${links[0]?.id}&limit=3`), {
      headers: { authorization: `Bearer ${account.key}`, accept: "text/csv" },
    });
    const [header, ...lines] = (await response.text()).trim().split("\r\n");
    expect(header).toStartWith("id,time,link_id,class,class_reason,country,");
    expect(lines).toHaveLength(3);
  });
});

/** Reads a page of a breakdown of the account. */
const readPage = async (cursor: string) => {
  const { body } = await get(
    `/breakdown?period=all&by=city,os&limit=7${cursor === "" ? "" : `&starting_after=${cursor}`}`,
  );
  return z
    .object({
      data: z.array(z.object({ values: z.record(z.string(), z.string()), clicks: z.number() })),
      total_clicks: z.number(),
      next_cursor: z.string().nullable(),
    })
    .parse(body);
};

test("a breakdown's pages together have every value once", async () => {
  const rows = [];
  let total = 0;
  for (let cursor: string | null = ""; cursor !== null;) {
    const { data, next_cursor, total_clicks } = await readPage(cursor);
    rows.push(...data);
    cursor = next_cursor;
    total = total_clicks;
  }
  expect(new Set(rows.map(({ values }) => JSON.stringify(values))).size).toBe(rows.length);
  expect(rows.reduce((sum, row) => sum + row.clicks, 0)).toBe(total);
});

test("a breakdown by link names the links that exist, for keys that may read links", async () => {
  const { id, key } = await createAccount(stack, "pro");
  const create = async (body: object) =>
    linkSchema.parse((await call(api("/v1/links"), { key, body })).body);
  const url = "https://example.com";
  const kept = await create({ url, title: "=Kept" });
  const gone = await create({ url });
  const made = [kept, gone].map((link) => decodeId("link", link.id) ?? "");
  const at = Date.now() - 1_000;
  const own = [0, 0, 1].map((link) => ({ ...click0(), at, link, class: "human" as const }));
  await insertClicks(stack, id, made, own);
  await call(api(`/v1/links/${gone.id}`), { key, method: "DELETE" });

  const names = [
    { short_url: kept.short_url, title: "=Kept" },
    { short_url: null, title: null },
  ];
  const byLink = await get("/breakdown?by=link", key);
  expect(byLink.body).toMatchObject({
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
  const csv = await call(api("/v1/analytics/breakdown?by=link&limit=1"), {
    key,
    headers: { accept: "text/csv" },
  });
  expect(csv.body).toBe(
    `link,clicks,unique_clicks,percentage,short_url,title\r\n${kept.id},2,1,66.7,${kept.short_url},'=Kept\r\n`,
  );

  const { key: reader } = await createKey(stack, id, "analytics:read");
  const unnamed = await get("/breakdown?by=link", reader);
  expect(unnamed.body).toMatchObject({ data: [{ link: names[1] }, { link: names[1] }] });
  expect(JSON.stringify((await get("", reader)).body)).not.toContain("Kept");
});

/** Any click. */
const click0 = (): Click => {
  const [first] = clicks;
  if (first === undefined) throw new Error("There are no clicks.");
  return first;
};

test("a breakdown has the clicks of the last second of a UTC day in which its first day begins", async () => {
  const { id, key } = await createAccount(stack, "enterprise", UNLIMITED);
  const body = { url: "https://example.com" };
  const link = linkSchema.parse((await call(api("/v1/links"), { key, body })).body).id;
  const uuid = decodeId("link", link) ?? "";
  // Links with few clicks are not read from rollups.
  await sql`update link_counters set clicks = 10000000 where link_id = ${uuid}`;
  // Alone in their month: no part of the table has other clicks beside them.
  const at = Date.parse("2023-06-09T23:59:59.400Z");
  const late = clicks
    .slice(0, 5)
    .map((click) => ({ ...click, at, link: 0, class: "human" as const }));
  await insertClicks(stack, id, [uuid], late);
  const range = "start_date=2023-06-10&end_date=2023-06-11&timezone=Asia/Kolkata";
  const found = await get(`/${link}/geo?${range}`, key);
  expect(found.body).toMatchObject({
    data: breakDown(late, ["country"], 10).map(({ values, clicks }) => ({ ...values, clicks })),
  });
});

test("tags and domains have the clicks and visitors of their links", async () => {
  const since = Date.parse("2024-09-01");
  const humans = clicks.filter((click) => click.class === "human" && click.at >= since);
  const of = (has: (link: (typeof links)[number]) => boolean) =>
    humans.filter(({ link }) => links[link] !== undefined && has(links[link]));
  const rowsOf = (name: "tag" | "domain", values: readonly string[]) =>
    values
      .map((value) => {
        const found = of((link) =>
          name === "tag" ? link.tags.includes(value) : link.domain === value,
        );
        return {
          values: { [name]: value },
          clicks: found.length,
          unique_clicks: countUnique(found),
        };
      })
      .toSorted((a, b) => b.clicks - a.clicks);
  for (const [name, values] of [
    ["tag", ["launch", "-odd", "paid"]],
    ["domain", [links[0]?.domain ?? "", OWN_DOMAIN]],
  ] as const) {
    const { body } = await get(`/breakdown?start_date=2024-09-01&end_date=2026-12-31&by=${name}`);
    expect(body).toMatchObject({ by: [name], data: rowsOf(name, values) });
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
  for (const [filter, found] of [
    ["", humans],
    ["&tag=crowd", tagged],
    ["&tag=-crowd", humans.filter(({ link }) => link === 10_000)],
  ] as const) {
    const { status, body } = await get(`/breakdown?period=all&by=device${filter}`, crowd.key);
    expect([status, body]).toMatchObject([200, { total_clicks: found.length }]);
  }
});

test("bulk figures and their countries obey filters", async () => {
  const { body } = await call(api("/v1/analytics/bulk"), {
    key: account.key,
    body: {
      link_ids: links.map(({ id }) => id),
      period: "all",
      filters: { device: ["mobile"], country: "-US" },
    },
  });
  const expected = links.map(({ id }, i) => {
    const found = clicks.filter(
      (click) =>
        click.link === i &&
        click.class === "human" &&
        click.device === "mobile" &&
        click.place[0] !== "US" &&
        click.at >= (links[0]?.created ?? 0) - DAY_MS / 2,
    );
    return { link_id: id, clicks: found.length, unique_clicks: countUnique(found) };
  });
  expect(body).toMatchObject({ data: expected });
});

test("bulk figures are those of the chosen days in the chosen time zone", async () => {
  const humans = clicks.filter((click) => click.class === "human");
  const hour = 60 * 60 * 1_000;
  // Tokyo has had the same offset since 1951. A click just after its midnight is of the day before
  // in UTC.
  const tokyo = (at: number) => new Date(at + 9 * hour).toISOString().slice(0, 10);
  const day = tokyo(
    humans.find(({ at }) => tokyo(at) !== new Date(at).toISOString().slice(0, 10))?.at ?? 0,
  );
  const { body } = await call(api("/v1/analytics/bulk"), {
    key: account.key,
    body: {
      link_ids: links.map(({ id }) => id),
      timezone: "Asia/Tokyo",
      start_date: day,
      end_date: day,
    },
  });
  const expected = links.map(({ id }, i) => {
    const found = humans.filter((click) => click.link === i && tokyo(click.at) === day);
    return { link_id: id, clicks: found.length, unique_clicks: countUnique(found) };
  });
  expect(expected.some((link) => link.clicks > 0)).toBeTrue();
  expect(body).toMatchObject({ data: expected });
});

describe("a question", () => {
  test.each([
    ["an unknown class", "class=robots"],
    ["more values than a query may have", "country=DE&".repeat(101)],
    ["an unknown dimension", "by=shoe_size"],
    ["three dimensions", "by=country,city,os"],
    ["a dimension named twice", "by=os,os"],
    ["a tag with another dimension", "by=tag,os"],
    ["a cursor that is none", "by=os&starting_after=me"],
  ])("with %s is refused", async (_, query) => {
    const separator = query.includes("by=") ? "" : "&by=os";
    const { status, body } = await get(`/breakdown?${query}${separator}`);
    expect([status, body]).toMatchObject([400, { error: { code: "invalid_request" } }]);
  });

  const LINK = links[0]?.id ?? "";

  test.each<[string, string[]]>([
    ["period=1y", ["period"]],
    ["timezone=Mars/Olympus", ["timezone"]],
    ["timezone=%2B02:00", ["timezone"]],
    ["start_date=2026-02-30", ["start_date"]],
    ["end_date=soon", ["end_date"]],
    ["end_date=9999-12-31", ["end_date"]],
    ["start_date=2026-03-02&end_date=2026-03-01", ["start_date"]],
    ["period=1y&start_date=x&timezone=y&class=z", ["period", "start_date", "timezone", "class"]],
  ])("that is ?%s is refused, and every parameter at fault is named", async (query, params) => {
    const { status, body } = await get(`/${LINK}?${query}`);
    expect([status, body]).toMatchObject([
      400,
      { error: { param: params[0], details: params.map((param) => ({ param })) } },
    ]);
  });

  test.each([
    `/${LINK}/geo?group_by=street`,
    `/${LINK}/geo?limit=0`,
    `/${LINK}/geo?limit=101`,
    "?limit=101",
  ])("is refused: %s", async (path) =>
    expect(codeOf(await get(path))).toEqual([400, "invalid_request"]),
  );

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

  test("of another account, or of the other mode, is about its own clicks alone", async () => {
    const { key: testKey } = await createKey(stack, account.id, "analytics:read", { type: "test" });
    const filters = LONG
      ? ["", "country=DE", "tag=launch", "class=bot", "tag=-none"]
      : ["tag=-none"];
    for (const key of [other.key, testKey]) {
      expect((await get(`?domain=${OWN_DOMAIN}`, key)).status).toBe(400);
      for (const filter of filters) {
        const query = `start_date=2024-09-01&end_date=2026-12-31&${filter}`;
        for (const link of links) {
          for (const path of ["", "/geo", "/devices", "/referrers", "/times"]) {
            expect((await get(`/${link.id}${path}?${query}`, key)).status).toBe(404);
          }
          expect((await get(`/${link.id}/stream?${filter}`, key)).status).toBe(404);
          expect((await get(`/${link.id}/breakdown?by=os&${query}`, key)).status).toBe(404);
          const { status } = await call(api(`/v1/clicks?link_id=${link.id}&${query}`), { key });
          expect(status).toBe(404);
        }
        expect((await get(`?${query}`, key)).body).toMatchObject({
          summary: { total_clicks: 0, bot_clicks: 0 },
          top_links: [],
        });
        expect((await get(`/geo?${query}`, key)).body).toMatchObject({ data: [] });
        for (const by of ["os", "link", "tag", "domain"]) {
          const { body } = await get(`/breakdown?by=${by}&${query}`, key);
          expect(body).toMatchObject({ total_clicks: 0, data: [] });
        }
        expect((await get(`/times?${query}`, key)).body).toMatchObject({ first_click_at: null });
        expect((await call(api(`/v1/clicks?${query}`), { key })).body).toMatchObject({ data: [] });
        expect(await (await ndjson(query, key)).text()).toBe("");
      }
    }
  });
});
