/**
 * Shlink as a source: version 3 of its REST API, as docs/swagger of shlinkio/shlink describes it
 * (`paths/v1_short-urls.json`, `paths/v1_short-urls_{shortCode}_visits.json`,
 * `paths/v3_short-urls_{shortCode}_redirect-rules.json`).
 */
import * as z from "zod";

import { rulesField } from "../../shared/contracts/link-rules.ts";
import { rulesBody, toRules } from "../compat/shlink-rules.ts";
import {
  HttpSource,
  instant,
  type ListPage,
  parseOrigin,
  text,
  VisitsByLink,
} from "./http-source.ts";
import type { Cursor, Page, SourceLink, SourceVisits } from "./source.ts";

/** Rows of a page. */
const LINKS_MAX = 100;
const VISITS_MAX = 1_000;

/** Maximum rules and tags of a link that are read. */
const RULES_MAX = 1_000;

const LIST = "/rest/v3/short-urls";

const pagination = z.object({ currentPage: z.int(), pagesCount: z.int() });

const shortUrl = z.object({
  shortCode: text,
  shortUrl: text,
  longUrl: text,
  dateCreated: instant,
  domain: text.nullish(),
  title: text.nullish(),
  tags: z.array(text).max(RULES_MAX),
  meta: z.object({
    validSince: instant.nullish(),
    validUntil: instant.nullish(),
    maxVisits: z.int().nullish(),
  }),
  visitsSummary: z.object({ total: z.int() }),
  crawlable: z.boolean().optional(),
  forwardQuery: z.boolean().optional(),
  hasRedirectRules: z.boolean().optional(),
});
type ShortUrl = z.output<typeof shortUrl>;

const linksPage = z.object({
  shortUrls: z.object({ data: z.array(shortUrl).max(LINKS_MAX), pagination }),
});

const place = z.object({ countryCode: text.nullish(), cityName: text.nullish() });

const visitsPage = z.object({
  visits: z.object({
    data: z
      .array(
        z.object({
          referer: text.nullish(),
          date: instant,
          userAgent: text.nullish(),
          visitLocation: place.nullish(),
        }),
      )
      .max(VISITS_MAX),
    pagination,
  }),
});

/** Rules as they come: which of them can be one here is seen for each. */
const rulesPage = z.object({ redirectRules: z.array(z.unknown()).max(RULES_MAX) });

export class Shlink extends VisitsByLink<ShortUrl> {
  readonly #http: HttpSource;

  constructor(http: HttpSource) {
    super();
    this.#http = http;
  }

  /** Opens an installation, e.g. `https://s.example.com`, with a key of its API. */
  static open(url: string, key: string): Shlink {
    return new Shlink(new HttpSource("Shlink", parseOrigin(url), { "x-api-key": key }));
  }

  static identify = (url: string): string => parseOrigin(url).href;

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const { items, next } = await this.readList(String(after?.["page"] ?? ""), signal);
    const rows: SourceLink[] = [];
    for (const item of items) rows.push(await this.#toLink(item, signal));
    return { rows, next: next === null ? null : { page: next } };
  }

  protected async readList(at: string, signal: AbortSignal): Promise<ListPage<ShortUrl>> {
    const page = at === "" ? 1 : Number(at);
    const query = { page, itemsPerPage: LINKS_MAX, orderBy: "dateCreated-ASC" };
    const { shortUrls } = await this.#http.get(LIST, query, linksPage, signal);
    const { data, pagination: pages } = shortUrls;
    const next = page < pages.pagesCount && data.length > 0 ? String(page + 1) : null;
    this.#http.requireNew(LIST, String(page), data[0]?.shortUrl, next);
    return { items: data, next };
  }

  /** Visits come newest first; with an end, those that arrive meanwhile move none. */
  protected async readVisits(item: ShortUrl, part: string, until: string, signal: AbortSignal) {
    if (item.visitsSummary.total === 0) return { rows: [], next: null };
    const page = part === "" ? 1 : Number(part);
    const query = { ...domainOf(item), endDate: until, page, itemsPerPage: VISITS_MAX };
    const path = `${LIST}/${encodeURIComponent(item.shortCode)}/visits`;
    const { visits } = await this.#http.get(path, query, visitsPage, signal);
    const rows = visits.data.map((visit): SourceVisits => {
      const { countryCode, cityName } = visit.visitLocation ?? {};
      return {
        linkId: idOf(item),
        at: visit.date,
        // Without an address, nobody knows which visits were one visitor's.
        daily: true,
        count: 1,
        userAgent: visit.userAgent ?? "",
        referrer: visit.referer ?? "",
        country: countryCode ?? "",
        city: cityName ?? "",
      };
    });
    const isLast = rows.length === 0 || page >= visits.pagination.pagesCount;
    return { rows, next: isLast ? null : String(page + 1) };
  }

  async #toLink(item: ShortUrl, signal: AbortSignal): Promise<SourceLink> {
    const { validSince, validUntil, maxVisits } = item.meta;
    const left = item.crawlable === true ? ["whether robots may crawl it"] : [];
    const rules = item.hasRedirectRules === true ? await this.#readRules(item, signal) : undefined;
    if (rules !== undefined && rules.left > 0) left.push(`${rules.left} of its rules`);
    const clicksLeft = typeof maxVisits === "number" ? maxVisits - item.visitsSummary.total : 1;
    if (clicksLeft <= 0) left.push("its limit of visits, which is reached: it is disabled");
    return {
      id: idOf(item),
      domain: item.domain ?? null,
      alias: item.shortCode,
      url: item.longUrl,
      ...(typeof item.title === "string" ? { title: item.title } : {}),
      tags: item.tags,
      createdAt: item.dateCreated,
      ...(validUntil instanceof Date ? { expiresAt: validUntil } : {}),
      settings: {
        forward_query: item.forwardQuery ?? true,
        ...(validSince instanceof Date ? { starts_at: validSince.toISOString() } : {}),
        ...(typeof maxVisits === "number" && clicksLeft > 0 ? { max_clicks: clicksLeft } : {}),
        ...(clicksLeft <= 0 ? { disabled: true } : {}),
        ...(rules === undefined ? {} : { rules: rules.rules }),
      },
      ...(left.length === 0 ? {} : { left }),
    };
  }

  /** The rules of a link that mean the same here, and how many do not. */
  async #readRules(item: ShortUrl, signal: AbortSignal) {
    const path = `${LIST}/${encodeURIComponent(item.shortCode)}/redirect-rules`;
    const page = await this.#http.get(path, domainOf(item), rulesPage, signal);
    const rules = page.redirectRules.flatMap((rule) => {
      const { data } = rulesBody.safeParse({ redirectRules: [rule] });
      const own = data === undefined ? undefined : toRules(data);
      return rulesField.safeParse(own).success ? (own ?? []) : [];
    });
    return { rules, left: page.redirectRules.length - rules.length };
  }
}

const domainOf = ({ domain }: ShortUrl): { domain?: string } =>
  typeof domain === "string" ? { domain } : {};

const idOf = ({ domain, shortCode }: ShortUrl): string => `${domain ?? ""}/${shortCode}`;
