/** Enrichment: turns a click into a row of ClickHouse. A pure function except for the GeoIP lookup. */
import {
  type Click,
  type ClickSegment,
  formatSegmentId,
} from "../../shared/contracts/click-segment.ts";
import type { Geo } from "./geo.ts";
import { parseReferrer } from "./referrer.ts";
import { truncateText } from "./truncate-text.ts";
import type { Agent, Device } from "./user-agent.ts";
import type { VisitorHash } from "./visitor.ts";

type ClickClass = "human" | "bot" | "prefetch";

/** A row of the table `clicks`, by column. */
export type ClickRow = {
  /** Unix milliseconds; ClickHouse parses the number as a `DateTime64(3)`. */
  ts: number;
  link_id: string;
  account_id: string;
  mode: string;
  class: ClickClass;
  class_reason: string;
  visitor: string;
  continent: string;
  country: string;
  region: string;
  region_name: string;
  city: string;
  browser: string;
  os: string;
  device: Device;
  referrer: string;
  referrer_path: string;
  language: string;
  utm_source: string;
  utm_medium: string;
  utm_campaign: string;
  utm_term: string;
  utm_content: string;
  host: string;
  journal_id: string;
  /** The segment's number. */
  page: number;
  idx: number;
};

type EnrichDeps = {
  geo: Pick<Geo, "locate">;
  parseAgent: (userAgent: string) => Agent;
  visitorHash: VisitorHash;
  /** Whether each click with a privacy signal counts as a separate visitor. */
  anonymousVisitors: boolean;
  /** Hosts of the default short domain. */
  ownHosts: ReadonlySet<string>;
};

/** Returns the rows of a segment's clicks in order: of all, or of those from index `from` up to `to`, exclusive. */
export type Enrich = (segment: ClickSegment, from?: number, to?: number) => ClickRow[];

/** Creates the enrichment of segments. */
export function createEnrich({
  geo,
  parseAgent,
  visitorHash,
  anonymousVisitors,
  ownHosts,
}: EnrichDeps): Enrich {
  /**
   * With a privacy signal, derives the visitor id from the click's journal position: stable on retry, not linkable to
   * a person.
   */
  const computeVisitor = (click: Click, segment: ClickSegment, idx: number): string =>
    click.privacy && anonymousVisitors
      ? visitorHash(click.linkId, formatSegmentId(segment), String(idx))
      : visitorHash(click.linkId, click.address, click.userAgent);

  function enrichClick(click: Click, segment: ClickSegment, idx: number): ClickRow {
    const agent = parseAgent(click.userAgent);
    const location = geo.locate(click.address);
    const referrer = parseReferrer(
      click.referrer,
      (host) => host === click.host || ownHosts.has(host),
    );
    const utm = new URLSearchParams(click.query);
    return {
      ts: click.time,
      link_id: click.linkId,
      account_id: click.accountId,
      mode: click.mode,
      ...classify(click, agent),
      visitor: computeVisitor(click, segment, idx),
      ...location,
      city: click.privacy ? "" : location.city,
      browser: agent.browser,
      os: agent.os,
      device: agent.device,
      referrer: referrer.source,
      referrer_path: click.privacy ? "" : referrer.path,
      language: parseLanguage(click.language),
      utm_source: readUtm(utm, "utm_source"),
      utm_medium: readUtm(utm, "utm_medium"),
      utm_campaign: readUtm(utm, "utm_campaign"),
      utm_term: readUtm(utm, "utm_term"),
      utm_content: readUtm(utm, "utm_content"),
      host: click.host,
      journal_id: segment.journalId,
      page: segment.segment,
      idx,
    };
  }

  return (segment, from = 0, to = segment.clicks.length) =>
    segment.clicks.slice(from, to).map((click, i) => enrichClick(click, segment, from + i));
}

/**
 * Clicks enriched in one turn of the event loop. Parsing a user agent that is not cached takes up to some
 * milliseconds, and an attacker can fill segments with such user agents.
 */
const CLICKS_PER_TURN = 10;

/** Enriches a segment over several turns of the event loop, so that acknowledgements and health checks run in between. */
export async function enrichInTurns(enrich: Enrich, segment: ClickSegment): Promise<ClickRow[]> {
  const rows: ClickRow[] = [];
  for (let from = 0; from < segment.clicks.length; from += CLICKS_PER_TURN) {
    if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    rows.push(...enrich(segment, from, from + CLICKS_PER_TURN));
  }
  return rows;
}

/** Checks for bots first: a request by a bot can be marked as a prefetch as well. */
function classify(click: Click, agent: Agent): { class: ClickClass; class_reason: string } {
  if (agent.bot !== undefined) return { class: "bot", class_reason: agent.bot };
  if (click.prefetch) return { class: "prefetch", class_reason: "purpose header" };
  return { class: "human", class_reason: "" };
}

/** Returns the primary subtag of the first language of `Accept-Language`, e.g. `de` for `de-AT,en;q=0.5`; "" for none. */
export const parseLanguage = (header: string): string =>
  /^\s*([a-z]{2,3})(?=[-,;\s]|$)/i.exec(header)?.[1]?.toLowerCase() ?? "";

const UTM_LENGTH_MAX = 255;

const readUtm = (query: URLSearchParams, name: string): string =>
  truncateText(query.get(name) ?? "", UTM_LENGTH_MAX);
