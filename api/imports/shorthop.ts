/**
 * Another installation of Shorthop as a source: `GET /v1/links` and `GET /v1/clicks`. Clicks are
 * read from pages, because an export begins again from its start when it breaks off.
 */
import * as z from "zod";

import { newLinkBody } from "../../shared/contracts/link-schemas.ts";
import { HttpSource, instant, parseOrigin, text } from "./http-source.ts";
import { type Cursor, type Page, Source, type SourceLink, type SourceVisits } from "./source.ts";

/** Rows of a page: the most that the API returns. */
const LINKS_MAX = 100;
const CLICKS_MAX = 1_000;

const LINKS = "/v1/links";
const CLICKS = "/v1/clicks";

const part = z.object({ id: text }).loose();

/** A link with all of its settings, whose values are checked as those of a new link. */
const link = z.looseObject({
  id: text,
  original_url: text,
  alias: text,
  domain: text.nullable(),
  title: text.nullable(),
  tags: z.array(text).max(LINKS_MAX),
  created_at: instant,
  expires_at: instant.nullable(),
  has_password: z.boolean(),
  status: text,
  clicks_left: z.int().optional(),
  rules: z.array(part).optional(),
  split: z.looseObject({ arms: z.array(part) }).optional(),
});
type OtherLink = z.output<typeof link>;

const linksPage = z.object({ data: z.array(link).max(LINKS_MAX), next_cursor: text.nullable() });

const clicksPage = z.object({
  data: z
    .array(
      z.object({
        id: text,
        time: instant,
        link_id: text,
        country: text,
        region: text,
        city: text,
        device: text,
        browser: text,
        os: text,
        referrer: text,
        referrer_path: text,
      }),
    )
    .max(CLICKS_MAX),
  next_cursor: text.nullable(),
});
type OtherClick = z.output<typeof clicksPage>["data"][number];

/** Members of a link that say otherwise what {@link SourceLink} says, or cannot be set. */
const OWN: ReadonlySet<string> = new Set(
  "url alias domain title tags expires_at password max_clicks rules split".split(" "),
);
const SETTINGS = Object.keys(newLinkBody.shape).filter((name) => !OWN.has(name));

export class Shorthop extends Source {
  readonly #http: HttpSource;

  constructor(http: HttpSource) {
    super();
    this.#http = http;
  }

  /** Opens the account and mode of a key of an API, e.g. `https://api.example.com`. */
  static open(url: string, key: string): Shorthop {
    const headers = { authorization: `Bearer ${key}` };
    return new Shorthop(new HttpSource("Shorthop", parseOrigin(url), headers));
  }

  static identify = (url: string): string => parseOrigin(url).href;

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const at = String(after?.["at"] ?? "");
    const page = await this.#readLinks(at, LINKS_MAX, signal);
    this.#http.requireNew(LINKS, at, page.data[0]?.id, page.next_cursor);
    const next = page.next_cursor === null ? null : { at: page.next_cursor };
    return { rows: page.data.map(toLink), next };
  }

  /**
   * Month by month; within one, clicks come newest first. The first page only says when all of them
   * begin and end, so that a run that begins again reads the same ones.
   */
  override async visits(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceVisits>> {
    if (after === null) return await this.#begin(signal);
    const until = String(after["until"]);
    let [month, at] = [String(after["month"]), String(after["at"])];
    while (month < until) {
      const end = monthAfter(month) < until ? monthAfter(month) : until;
      const from = { starting_after: at === "" ? undefined : at, limit: CLICKS_MAX };
      // What a bot was would be a person here: its user agent is not known any more.
      const query = { start_date: month, end_date: end, class: "human", ...from };
      const { data, next_cursor: next } = await this.#http.get(CLICKS, query, clicksPage, signal);
      this.#http.requireNew(CLICKS, `${month} ${at}`, data[0]?.id, next);
      [month, at] = next === null ? [monthAfter(month), ""] : [month, next];
      if (data.length > 0) return { rows: data.map(toVisit), next: { month, at, until } };
    }
    return { rows: [], next: null };
  }

  /** From the month of the first link on. */
  async #begin(signal: AbortSignal): Promise<Page<SourceVisits>> {
    const until = new Date().toISOString();
    const { data } = await this.#readLinks("", 1, signal);
    const first = data[0]?.created_at.toISOString();
    if (first === undefined) return { rows: [], next: null };
    const month = `${first.slice(0, "YYYY-MM".length)}-01T00:00:00.000Z`;
    return { rows: [], next: { month, at: "", until } };
  }

  #readLinks(at: string, limit: number, signal: AbortSignal) {
    const order = { sort: "created_at", order: "asc", archived: "any", include: "settings" };
    return this.#http.get(LINKS, { ...order, limit, starting_after: at }, linksPage, signal);
  }
}

/** The start of the month after one that starts then. */
function monthAfter(start: string): string {
  const at = new Date(start);
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)).toISOString();
}

function toLink(item: OtherLink): SourceLink {
  const { rules, split } = item;
  const isUsedUp = item.clicks_left === 0;
  const isTakenDown = item.status === "taken_down";
  const left = [
    ...(item.has_password ? ["its password: it is disabled until it gets one"] : []),
    ...(isUsedUp ? ["its limit of clicks, which is reached: it is disabled"] : []),
    ...(isTakenDown ? ["that it was taken down: it is disabled"] : []),
  ];
  const values = SETTINGS.flatMap((name) => {
    const value = item[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  const isLimited = item.clicks_left !== undefined && !isUsedUp;
  return {
    id: item.id,
    domain: item.domain,
    alias: item.alias,
    url: item.original_url,
    ...(item.title === null ? {} : { title: item.title }),
    tags: item.tags,
    createdAt: item.created_at,
    ...(item.expires_at === null ? {} : { expiresAt: item.expires_at }),
    settings: {
      ...Object.fromEntries(values),
      ...(isLimited ? { max_clicks: item.clicks_left } : {}),
      // Rules and arms get ids of their own.
      ...(rules === undefined ? {} : { rules: rules.map(withoutId) }),
      ...(split === undefined ? {} : { split: { ...split, arms: split.arms.map(withoutId) } }),
      ...(left.length === 0 ? {} : { disabled: true }),
    },
    ...(left.length === 0 ? {} : { left }),
  };
}

const withoutId = (one: z.output<typeof part>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(one).filter(([name]) => name !== "id"));

const known = (value: string): string => (value === "Unknown" || value === "ZZ" ? "" : value);

/** Without visitors, whose hashes the API does not return. */
const toVisit = (click: OtherClick): SourceVisits => ({
  linkId: click.link_id,
  at: click.time,
  daily: true,
  count: 1,
  country: known(click.country),
  region: click.region,
  city: click.city,
  device: click.device,
  browser: known(click.browser),
  os: known(click.os),
  referrer: click.referrer === "direct" ? "" : `https://${click.referrer}${click.referrer_path}`,
});
