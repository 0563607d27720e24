/**
 * Dub as a source: its API, `GET /links` and `GET /events`, as apps/web/lib/zod/schemas of
 * dubinc/dub describes it (`links.ts`, `analytics.ts`, `clicks.ts`).
 */
import * as z from "zod";

import { browserName, systemName } from "../../shared/agent-names.ts";
import { toSingleLine } from "../../shared/contracts/text.ts";
import { HttpSource, instant, text } from "./http-source.ts";
import { type Cursor, type Page, Source, type SourceLink, type SourceVisits } from "./source.ts";

const DUB_API = new URL("https://api.dub.co");

/** Rows of a page, and the last page that Dub has. */
const LINKS_MAX = 100;
const EVENTS_MAX = 1_000;
const PAGES_MAX = 1_000;

/** Maximum variants, tags and countries of a link that are read. */
const PARTS_MAX = 1_000;

const WORKSPACE = /^[\w-]{1,60}$/;

const link = z.object({
  id: text,
  domain: text,
  key: text,
  url: text,
  externalId: text.nullish(),
  archived: z.boolean().nullish(),
  expiresAt: instant.nullish(),
  expiredUrl: text.nullish(),
  disabledAt: text.nullish(),
  password: text.nullish(),
  proxy: z.boolean().nullish(),
  title: text.nullish(),
  description: text.nullish(),
  image: text.nullish(),
  video: text.nullish(),
  rewrite: z.boolean().nullish(),
  doIndex: z.boolean().nullish(),
  trackConversion: z.boolean().nullish(),
  ios: text.nullish(),
  android: text.nullish(),
  geo: z.record(text, text).nullish(),
  tags: z
    .array(z.object({ name: text }))
    .max(PARTS_MAX)
    .nullish(),
  comments: text.nullish(),
  testVariants: z
    .array(z.object({ url: text, percentage: z.number() }))
    .max(PARTS_MAX)
    .nullish(),
  testCompletedAt: instant.nullish(),
  createdAt: instant,
});
type DubLink = z.output<typeof link>;

const linksPage = z.array(link).max(LINKS_MAX);

const eventsPage = z
  .array(
    z.object({
      timestamp: instant,
      click: z.object({
        id: text,
        country: text.nullish(),
        region: text.nullish(),
        city: text.nullish(),
        device: text.nullish(),
        browser: text.nullish(),
        os: text.nullish(),
        referer: text.nullish(),
        refererUrl: text.nullish(),
      }),
      link: z.object({ id: text }),
    }),
  )
  .max(EVENTS_MAX);
type ClickEvent = z.output<typeof eventsPage>[number];

export class Dub extends Source {
  readonly #http: HttpSource;
  readonly #since: string | undefined;

  /** `since` is the first day of visits, where the plan has no earlier ones. */
  constructor(http: HttpSource, since?: string) {
    super();
    [this.#http, this.#since] = [http, since];
  }

  static open(key: string, since?: string): Dub {
    return new Dub(new HttpSource("Dub", DUB_API, { authorization: `Bearer ${key}` }), since);
  }

  /** A workspace is named only to tell its import from that of another: the key decides. */
  static identify(workspace: string): string {
    if (!WORKSPACE.test(workspace)) throw new Error("It must be a workspace such as acme.");
    return workspace;
  }

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const page = Number(after?.["page"] ?? 1);
    const query = { page, pageSize: LINKS_MAX, showArchived: "true" };
    const rows = await this.#http.get("/links", query, linksPage, signal);
    const next = this.#nextOf("/links", page, rows.length === LINKS_MAX, rows[0]?.id);
    return { rows: rows.map(toLink), next };
  }

  /** Visits come oldest first, so those that arrive meanwhile move none. */
  override async visits(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceVisits>> {
    const page = Number(after?.["page"] ?? 1);
    const period = this.#since === undefined ? { interval: "all" } : { start: this.#since };
    const query = { event: "clicks", sortOrder: "asc", ...period, page, limit: EVENTS_MAX };
    const rows = await this.#http.get("/events", query, eventsPage, signal);
    // Events of deleted links are left out of a page, so only an empty one is the last.
    const next = this.#nextOf("/events", page, rows.length > 0, rows[0]?.click.id);
    return { rows: rows.map(toVisit), next };
  }

  #nextOf(path: string, page: number, hasMore: boolean, first: string | undefined): Cursor | null {
    this.#http.requireNew(path, String(page), first, null);
    if (!hasMore) return null;
    if (path === "/links" && page === PAGES_MAX)
      throw this.#http.fail(path, `it has no more than ${PAGES_MAX} pages`);
    return { page: page + 1 };
  }
}

function toLink(item: DubLink): SourceLink {
  const { settings, left } = settingsOf(item);
  return {
    id: item.id,
    domain: item.domain,
    // The link of a domain itself, which is none here.
    alias: item.key === "_root" ? "" : item.key,
    url: item.url,
    ...(typeof item.title === "string" ? { title: item.title } : {}),
    tags: (item.tags ?? []).map(({ name }) => name),
    createdAt: item.createdAt,
    ...(item.expiresAt instanceof Date ? { expiresAt: item.expiresAt } : {}),
    settings,
    ...(left.length === 0 ? {} : { left }),
  };
}

function settingsOf(item: DubLink) {
  const isProtected = typeof item.password === "string" && item.password !== "";
  const rules = [
    ...platformRules(item.ios, item.android),
    ...Object.entries(item.geo ?? {}).map(([country, url]) => ({
      url,
      conditions: [{ type: "country", in: [country] }],
    })),
  ];
  const arms = (item.testVariants ?? []).filter(({ url }) => url !== item.url);
  const isTested = !(item.testCompletedAt instanceof Date && item.testCompletedAt <= new Date());
  // Dub takes both from the destination's page.
  const title = toSingleLine(item.title ?? "");
  const description = toSingleLine(item.description ?? "") || null;
  const hasCard = item.proxy === true && title !== "";
  const settings = {
    ...(item.archived === true ? { archived: true } : {}),
    ...(isProtected || typeof item.disabledAt === "string" ? { disabled: true } : {}),
    ...(typeof item.expiredUrl === "string" ? { expired_url: item.expiredUrl } : {}),
    ...(typeof item.externalId === "string" ? { external_id: item.externalId } : {}),
    ...(typeof item.comments === "string" ? { notes: item.comments } : {}),
    ...(rules.length > 0 ? { rules } : {}),
    ...(arms.length > 0 && isTested ? { split: splitOf(arms, item.testCompletedAt) } : {}),
    ...(hasCard && !isProtected ? { preview: { title, description, image: item.image } } : {}),
  };
  const left = [
    ...(isProtected ? ["its password: it is disabled until it gets one"] : []),
    ...(item.rewrite === true ? ["that it is cloaked"] : []),
    ...(item.doIndex === true ? ["that search engines may index it"] : []),
    ...(item.trackConversion === true ? ["its conversions"] : []),
    ...(hasCard && typeof item.video === "string" ? ["the video of its card"] : []),
  ];
  return { settings, left };
}

const splitOf = (
  arms: readonly { url: string; percentage: number }[],
  until: Date | null | undefined,
) => ({
  arms: arms.map(({ url, percentage }) => ({ url, weight: Math.round(percentage) })),
  ...(until instanceof Date ? { until: until.toISOString() } : {}),
});

/** The rules of a link that has other destinations on phones. */
export const platformRules = (ios: string | null | undefined, android: string | null | undefined) =>
  (
    [
      ["iOS", ios],
      ["Android", android],
    ] as const
  ).flatMap(([os, url]) =>
    typeof url === "string" && url !== "" ? [{ url, conditions: [{ type: "os", in: [os] }] }] : [],
  );

/** Dub's words for a value that it does not know. */
const UNKNOWN = new Set(["unknown", "(direct)"]);

const known = (value: string | null | undefined): string =>
  value === null || value === undefined || UNKNOWN.has(value.toLowerCase()) ? "" : value;

function toVisit({ timestamp, click, link: { id } }: ClickEvent): SourceVisits {
  const url = known(click.refererUrl);
  const host = known(click.referer);
  return {
    linkId: id,
    at: timestamp,
    daily: true,
    count: 1,
    country: known(click.country),
    region: known(click.region),
    city: known(click.city),
    device: known(click.device),
    browser: browserName(known(click.browser)),
    os: systemName(known(click.os)),
    // Some have a host only.
    referrer:
      [url, host].find((text) => URL.canParse(text)) ?? (host === "" ? "" : `https://${host}/`),
  };
}
