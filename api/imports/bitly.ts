/**
 * Bitly as a source: version 4 of its API (dev.bitly.com/api-reference: getBitlinksByGroup,
 * getClicksForBitlink). It tells how many clicks a link had on each day, and no more of them.
 */
import * as z from "zod";

import { HttpSource, instant, type ListPage, text, VisitsByLink } from "./http-source.ts";
import type { Cursor, Page, SourceLink, SourceVisits } from "./source.ts";

const BITLY_API = new URL("https://api-ssl.bitly.com");

/** Rows of a page: the most that Bitly returns. */
const LINKS_MAX = 100;

/** Days that are returned at least, if a link has that many: the default of `size`. */
const DAYS_MIN = 50;
const DAYS_MAX = 100_000;

/** Maximum tags and custom back-halves of a link that are read. */
const LABELS_MAX = 1_000;

const GROUP = /^\w{1,40}$/;

const bitlink = z.object({
  id: text,
  long_url: text,
  title: text.nullish(),
  archived: z.boolean().optional(),
  created_at: instant,
  custom_bitlinks: z.array(text).max(LABELS_MAX).nullish(),
  tags: z.array(text).max(LABELS_MAX).nullish(),
  deeplinks: z.array(z.unknown()).max(LABELS_MAX).nullish(),
});
type Bitlink = z.output<typeof bitlink>;

const linksPage = z.object({
  links: z.array(bitlink).max(LINKS_MAX),
  pagination: z.object({ search_after: text.nullish() }),
});

const clicksPage = z.object({
  link_clicks: z.array(z.object({ date: instant, clicks: z.int().min(0) })).max(DAYS_MAX),
});

export class Bitly extends VisitsByLink<Bitlink> {
  readonly #http: HttpSource;
  readonly #list: string;

  /** Reads a group, such as `Bk1a2b3c4d5`. */
  constructor(http: HttpSource, group: string) {
    super();
    this.#http = http;
    this.#list = `/v4/groups/${group}/bitlinks`;
  }

  static open(group: string, token: string): Bitly {
    const headers = { authorization: `Bearer ${token}` };
    return new Bitly(new HttpSource("Bitly", BITLY_API, headers), group);
  }

  static identify(group: string): string {
    if (!GROUP.test(group)) throw new Error("It must be a group such as Bk1a2b3c4d5.");
    return group;
  }

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const { items, next } = await this.readList(String(after?.["list"] ?? ""), signal);
    return { rows: items.flatMap(toLinks), next: next === null ? null : { list: next } };
  }

  protected async readList(at: string, signal: AbortSignal): Promise<ListPage<Bitlink>> {
    const query = { size: LINKS_MAX, archived: "both", search_after: at === "" ? undefined : at };
    const { links, pagination } = await this.#http.get(this.#list, query, linksPage, signal);
    const next = pagination.search_after || null;
    this.#http.requireNew(this.#list, at, links[0]?.id, next);
    return { items: links, next };
  }

  /** Days come newest first; whether all came at once, only the days before the last one tell. */
  protected async readVisits(item: Bitlink, part: string, until: string, signal: AbortSignal) {
    const end = part === "" ? until : part;
    const query = { unit: "day", units: -1, unit_reference: end };
    const path = `/v4/bitlinks/${encodePath(item.id)}/clicks`;
    const { link_clicks: found } = await this.#http.get(path, query, clicksPage, signal);
    const before = new Date(end).getTime();
    const days = found.filter(({ date }) => date.getTime() < before);
    const oldest = Math.min(...days.map(({ date }) => date.getTime()));
    const rows = days
      .filter(({ clicks }) => clicks > 0)
      .map(({ date, clicks }): SourceVisits => ({
        linkId: item.id,
        at: date,
        daily: true,
        count: clicks,
      }));
    const isLast = days.length < DAYS_MIN;
    return { rows, next: isLast ? null : new Date(oldest).toISOString() };
  }
}

const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

/** A bitlink with its custom back-halves, which are links of their own here. */
function toLinks(item: Bitlink): SourceLink[] {
  const ids = [
    item.id,
    ...(item.custom_bitlinks ?? []).map((url) => url.replace(/^https?:\/\//, "")),
  ];
  const left = (item.deeplinks ?? []).length === 0 ? {} : { left: ["its deep links"] };
  return [...new Set(ids)].map((id) => {
    const [domain = "", ...path] = id.split("/");
    return {
      id,
      domain,
      alias: path.join("/"),
      url: item.long_url,
      ...(typeof item.title === "string" ? { title: item.title } : {}),
      tags: item.tags ?? [],
      createdAt: item.created_at,
      settings: item.archived === true ? { archived: true } : {},
      ...left,
    };
  });
}
