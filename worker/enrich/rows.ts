/**
 * Enrichment: turns a segment into rows of ClickHouse, from the segment's bytes to the insert's text without an object
 * for each row. It is a pure function of the segment, except for the GeoIP data.
 */
import {
  decodeText,
  type EncodedClick,
  formatSegmentId,
  formatUuid,
  readEncodedClick,
  scanSegment,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import { cached } from "./cache.ts";
import type { Geo, GeoLocation } from "./geo.ts";
import { parseReferrer } from "./referrer.ts";
import { escapeField } from "./tab-separated.ts";
import { truncateText } from "./truncate-text.ts";
import type { Agent } from "./user-agent.ts";
import type { VisitorHash } from "./visitor.ts";

/** The columns of the rows, in order: those of the table `incoming_clicks`. */
export const ROW_COLUMNS = [
  "ts",
  "link_id",
  "account_id",
  "mode",
  "class",
  "class_reason",
  "visitor",
  "continent",
  "country",
  "region",
  "region_name",
  "city",
  "browser",
  "os",
  "device",
  "referrer",
  "referrer_path",
  "language",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
  "host",
  "journal_id",
  "segment",
  "idx",
] as const;

/** The rows of a segment. */
export type SegmentRows = SegmentId & {
  /** In the format TabSeparated, with {@link ROW_COLUMNS}; one line for each click, in order. */
  rows: Buffer;
  clicks: number;
  links: readonly Uuid[];
  /** Times of the earliest and the latest click, in Unix milliseconds; infinite without clicks. */
  firstClick: number;
  lastClick: number;
  /** False when bytes that are not a valid record follow the last valid one. */
  whole: boolean;
};

/** Converts a segment; undefined when the bytes are not a segment of clicks. */
export type RowsOf = (segment: Buffer) => Promise<SegmentRows | undefined>;

type RowsDeps = {
  geo: Pick<Geo, "locate">;
  parseAgent: (userAgent: string) => Agent;
  visitorHash: VisitorHash;
  /** Whether each click with a privacy signal counts as a separate visitor. */
  anonymousVisitors: boolean;
  /** Hosts of the default short domain. */
  ownHosts: ReadonlySet<string>;
};

/** Texts cached, of each kind. A text has up to 1 KiB, so that all caches together take some tens of MB at most. */
const CACHE_ENTRIES_MAX = 10_000;

/**
 * After this time, other work of the event loop runs, such as acknowledgements and health checks. Parsing a user agent
 * that is not cached takes up to some milliseconds, and an attacker can fill segments with such user agents.
 */
const TURN_MS = 5;

/** The latest time of a click, in Unix milliseconds: 2100-01-01, below the end of ClickHouse's `DateTime`. */
const TIME_MAX = Date.UTC(2100, 0, 1);

/** Creates the enrichment of segments. */
export function createRowsOf(deps: RowsDeps): RowsOf {
  const encodeClick = createClickEncoder(deps);

  return async (segment) => {
    const scan = scanSegment(segment);
    if (scan === undefined) return undefined;
    const segmentId = formatSegmentId(scan);
    const position = `\t${scan.journalId}\t${scan.segment}\t`;
    const links = new Map<string, Uuid>();
    const lines: string[] = [];
    let [firstClick, lastClick] = [Infinity, -Infinity];
    let turnEnd = performance.now() + TURN_MS;
    for (let offset = SEGMENT_HEADER_BYTES; offset < scan.end;) {
      const read = readEncodedClick(segment, offset);
      if (read === undefined || !isTime(read.click.time)) return undefined;
      const { click, end } = read;
      offset = end;
      firstClick = Math.min(firstClick, click.time);
      lastClick = Math.max(lastClick, click.time);
      let linkId = links.get(click.linkHex);
      if (linkId === undefined) links.set(click.linkHex, (linkId = formatUuid(click.linkHex)));
      const idx = lines.length;
      lines.push(`${encodeClick(click, linkId, segmentId, idx)}${position}${idx}\n`);
      if (performance.now() < turnEnd) continue;
      await new Promise<void>((resolve) => setImmediate(resolve));
      turnEnd = performance.now() + TURN_MS;
    }
    return {
      journalId: scan.journalId,
      segment: scan.segment,
      rows: Buffer.from(lines.join("")),
      clicks: lines.length,
      links: [...links.values()],
      firstClick,
      lastClick,
      whole: scan.end === segment.length,
    };
  };
}

const isTime = (time: number): boolean => Number.isInteger(time) && time >= 0 && time < TIME_MAX;

/** Returns the columns of a click before its position in the journal. */
type EncodeClick = (click: EncodedClick, linkId: Uuid, segmentId: string, idx: number) => string;

/** What a header says, as fields of a row, escaped. */
type AgentFields = { text: string; fields: string; bot: string | undefined };
type ReferrerFields = { host: string; fields: string; fieldsWithoutPath: string };

function createClickEncoder({
  geo,
  parseAgent,
  visitorHash,
  anonymousVisitors,
  ownHosts,
}: RowsDeps): EncodeClick {
  const agentOf = cached(CACHE_ENTRIES_MAX, (latin1: string): AgentFields => {
    const text = decodeText(latin1);
    const { browser, os, device, bot } = parseAgent(text);
    return { text, fields: toFields(browser, os, device), bot: bot && escapeField(bot) };
  });
  const referrerOf = cached(CACHE_ENTRIES_MAX, (latin1: string): ReferrerFields => {
    const { host, source, path } = parseReferrer(decodeText(latin1));
    return { host, fields: toFields(source, path), fieldsWithoutPath: toFields(source, "") };
  });
  const languageOf = cached(CACHE_ENTRIES_MAX, (latin1: string) =>
    parseLanguage(decodeText(latin1)),
  );
  const utmOf = cached(CACHE_ENTRIES_MAX, (latin1: string) => parseUtm(decodeText(latin1)));
  const hostOf = cached(CACHE_ENTRIES_MAX, (latin1: string) => decodeText(latin1));
  const placeOf = createLocationEncoder();

  /**
   * With a privacy signal, derives the visitor from the click's position in the journal: stable on retry, not linkable
   * to a person.
   */
  const visitorOf: (...values: [...Parameters<EncodeClick>, userAgent: string]) => string = (
    click,
    linkId,
    segmentId,
    idx,
    userAgent,
  ) =>
    click.privacy && anonymousVisitors
      ? visitorHash(linkId, segmentId, String(idx))
      : visitorHash(linkId, decodeText(click.address), userAgent);

  return (click, linkId, segmentId, idx) => {
    const agent = agentOf(click.userAgent);
    const visitor = visitorOf(click, linkId, segmentId, idx, agent.text);
    const place = placeOf(geo.locate(click.address), click.privacy);
    const host = hostOf(click.host);
    const referrer = referrerOf(click.referrer);
    const isOwn = referrer.host !== "" && (referrer.host === host || ownHosts.has(referrer.host));
    const foreign = click.privacy ? referrer.fieldsWithoutPath : referrer.fields;
    const source = isOwn ? DIRECT_FIELDS : foreign;
    return `${click.time}\t${click.linkHex}\t${click.accountHex}\t${click.mode}\t${classify(agent.bot, click.prefetch)}\t${visitor}\t${place}\t${agent.fields}\t${source}\t${languageOf(click.language)}\t${utmOf(click.query)}\t${escapeField(host)}`;
  };
}

/** Checks for bots first: a request by a bot can be marked as a prefetch as well. */
function classify(bot: string | undefined, prefetch: boolean): string {
  if (bot !== undefined) return `bot\t${bot}`;
  return prefetch ? "prefetch\tpurpose header" : "human\t";
}

/** Returns a function for the fields of a location. The objects of {@link Geo} are its own, so they identify places. */
function createLocationEncoder(): (location: GeoLocation, privacy: boolean) => string {
  const known = new WeakMap<GeoLocation, { fields: string; fieldsWithoutCity: string }>();
  return (location, privacy) => {
    let place = known.get(location);
    if (place === undefined) {
      const { continent, country, region, region_name, city } = location;
      const area = toFields(continent, country, region, region_name);
      place = { fields: `${area}\t${escapeField(city)}`, fieldsWithoutCity: `${area}\t` };
      known.set(location, place);
    }
    return privacy ? place.fieldsWithoutCity : place.fields;
  };
}

const toFields = (...texts: readonly string[]): string => texts.map(escapeField).join("\t");

const DIRECT_FIELDS = "direct\t";

/** Returns the primary subtag of the first language of `Accept-Language`, e.g. `de` for `de-AT,en;q=0.5`; "" for none. */
export const parseLanguage = (header: string): string =>
  /^\s*([a-z]{2,3})(?=[-,;\s]|$)/i.exec(header)?.[1]?.toLowerCase() ?? "";

const UTM_NAMES = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];

const UTM_LENGTH_MAX = 255;

function parseUtm(query: string): string {
  const values = new URLSearchParams(query);
  return toFields(...UTM_NAMES.map((name) => truncateText(values.get(name) ?? "", UTM_LENGTH_MAX)));
}
