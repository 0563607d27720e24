/** From a click as a redirector saw it to a row of ClickHouse: pure, but for the GeoIP look-up. */
import { type Click, type ClickPage, pageIdText } from "../../shared/contracts/click-page.ts";
import type { Geo } from "./geo.ts";
import { parseReferrer, type Referrer } from "./referrer.ts";
import type { Agent, Device } from "./user-agent.ts";
import type { VisitorHash } from "./visitor.ts";

export type ClickClass = "human" | "bot" | "prefetch";

/** A row of the table `clicks`, member by member. */
export type ClickRow = {
  /** Unix milliseconds; the insert reads them as such. */
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
  page: number;
  idx: number;
};

type EnrichDeps = {
  geo: Pick<Geo, "locate">;
  parseAgent: (userAgent: string) => Agent;
  visitorHash: VisitorHash;
  /** Whether someone who asks for privacy is a visitor of their own each time. */
  anonymousVisitors: boolean;
  /** Hosts of the default short domain. */
  ownHosts: ReadonlySet<string>;
};

/** Creates the step from a page to its rows, in order. */
export function createEnrich({
  geo,
  parseAgent,
  visitorHash,
  anonymousVisitors,
  ownHosts,
}: EnrichDeps) {
  /** Of its place, where it must not be of its person: the same however often it is worked out. */
  const visitorOf = (click: Click, page: ClickPage, idx: number): string =>
    click.privacy && anonymousVisitors
      ? visitorHash(click.linkId, pageIdText(page), String(idx))
      : visitorHash(click.linkId, click.address, click.userAgent);

  function enrichClick(click: Click, page: ClickPage, idx: number): ClickRow {
    const agent = parseAgent(click.userAgent);
    const place = geo.locate(click.address);
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
      ...classOf(click, agent),
      visitor: visitorOf(click, page, idx),
      ...place,
      city: click.privacy ? "" : place.city,
      browser: agent.browser,
      os: agent.os,
      device: agent.device,
      referrer: referrer.source,
      referrer_path: pathOf(referrer, click),
      language: languageOf(click.language),
      utm_source: utmOf(utm, "utm_source"),
      utm_medium: utmOf(utm, "utm_medium"),
      utm_campaign: utmOf(utm, "utm_campaign"),
      utm_term: utmOf(utm, "utm_term"),
      utm_content: utmOf(utm, "utm_content"),
      host: click.host,
      journal_id: page.journalId,
      page: page.page,
      idx,
    };
  }

  return (page: ClickPage): ClickRow[] =>
    page.clicks.map((click, idx) => enrichClick(click, page, idx));
}

/** A prefetch is a browser's own doing, whoever's browser it is; a crawler's may be one as well. */
function classOf(click: Click, agent: Agent): { class: ClickClass; class_reason: string } {
  if (agent.bot !== undefined) return { class: "bot", class_reason: agent.bot };
  if (click.prefetch) return { class: "prefetch", class_reason: "purpose header" };
  return { class: "human", class_reason: "" };
}

const pathOf = (referrer: Referrer, click: Click): string => (click.privacy ? "" : referrer.path);

/** The primary tag of the most wanted language, e.g. `de` of `de-AT,en;q=0.5`; empty for none. */
export const languageOf = (header: string): string =>
  /^\s*([a-z]{2,3})(?=[-,;\s]|$)/i.exec(header)?.[1]?.toLowerCase() ?? "";

const UTM_LENGTH_MAX = 255;

const utmOf = (query: URLSearchParams, name: string): string =>
  query.get(name)?.slice(0, UTM_LENGTH_MAX) ?? "";
