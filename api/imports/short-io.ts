/**
 * Short.io as a source: `GET /api/domains` and `GET /api/links` of its API, as its client describes
 * it (Short-io/client-node, src/generated/types.gen.ts: ListDomains, ListLinks). Visits are not
 * among what this API has.
 */
import * as z from "zod";

import { platformRules } from "./dub.ts";
import { HttpSource, instant, parseOrigin, text } from "./http-source.ts";
import { type Cursor, type Page, Source, type SourceLink } from "./source.ts";

const SHORT_IO_API = new URL("https://api.short.io");

/** Rows of a page; and most domains of an account, and tags of a link, that are read. */
const LINKS_MAX = 150;
const DOMAINS_MAX = 10_000;
const TAGS_MAX = 1_000;

const DOMAINS = "/api/domains";
const LINKS = "/api/links";

const domainsPage = z.array(z.object({ id: z.int(), hostname: text })).max(DOMAINS_MAX);

const link = z.object({
  idString: text,
  path: text,
  originalURL: text,
  title: text.nullish(),
  tags: z.array(text).max(TAGS_MAX).nullish(),
  createdAt: instant.nullish(),
  expiresAt: instant.nullish(),
  expiredURL: text.nullish(),
  archived: z.boolean().nullish(),
  hasPassword: z.boolean().nullish(),
  clicksLimit: z.int().nullish(),
  cloaking: z.boolean().nullish(),
  skipQS: z.boolean().nullish(),
  redirectType: z.coerce.number().nullish(),
  splitURL: text.nullish(),
  splitPercent: z.number().nullish(),
  iphoneURL: text.nullish(),
  androidURL: text.nullish(),
  utmSource: text.nullish(),
  utmMedium: text.nullish(),
  utmCampaign: text.nullish(),
  utmTerm: text.nullish(),
  utmContent: text.nullish(),
});
type ShortIoLink = z.output<typeof link>;

const linksPage = z.object({
  links: z.array(link).max(LINKS_MAX),
  nextPageToken: text.nullish(),
});

export class ShortIo extends Source {
  readonly #http: HttpSource;
  readonly #host: string;
  #domainId: number | undefined;

  /** Reads the links of one domain. */
  constructor(http: HttpSource, host: string) {
    super();
    [this.#http, this.#host] = [http, host];
  }

  static open(host: string, key: string): ShortIo {
    return new ShortIo(new HttpSource("Short.io", SHORT_IO_API, { authorization: key }), host);
  }

  static identify(host: string): string {
    if (parseOrigin(`https://${host}`).host !== host)
      throw new Error("It must be a domain such as go.example.com.");
    return host;
  }

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const token = String(after?.["token"] ?? "");
    this.#domainId ??= await this.#findDomain(signal);
    const query = {
      domain_id: this.#domainId,
      limit: LINKS_MAX,
      dateSortOrder: "asc",
      pageToken: token === "" ? undefined : token,
    };
    const { links, nextPageToken } = await this.#http.get(LINKS, query, linksPage, signal);
    const next = nextPageToken || null;
    this.#http.requireNew(LINKS, token, links[0]?.idString, next);
    return {
      rows: links.map((item) => toLink(item, this.#host)),
      next: next === null ? null : { token: next },
    };
  }

  async #findDomain(signal: AbortSignal): Promise<number> {
    const domains = await this.#http.get(DOMAINS, {}, domainsPage, signal);
    const found = domains.find(({ hostname }) => hostname === this.#host);
    if (found === undefined) throw this.#http.fail(DOMAINS, `there is no domain ${this.#host}`);
    return found.id;
  }
}

function toLink(item: ShortIoLink, domain: string): SourceLink {
  const isProtected = item.hasPassword === true;
  const left = [
    ...(isProtected ? ["its password: it is disabled until it gets one"] : []),
    ...(item.cloaking === true ? ["that it is cloaked"] : []),
    ...(typeof item.clicksLimit === "number" ? ["the clicks that its limit has counted"] : []),
  ];
  return {
    id: item.idString,
    domain,
    alias: item.path,
    url: item.originalURL,
    ...(typeof item.title === "string" ? { title: item.title } : {}),
    tags: item.tags ?? [],
    ...(item.createdAt instanceof Date ? { createdAt: item.createdAt } : {}),
    ...(item.expiresAt instanceof Date ? { expiresAt: item.expiresAt } : {}),
    settings: settingsOf(item),
    ...(left.length === 0 ? {} : { left }),
  };
}

function settingsOf(item: ShortIoLink): Record<string, unknown> {
  const rules = platformRules(item.iphoneURL, item.androidURL);
  const weight = Math.round(item.splitPercent ?? 0);
  const isSplit = typeof item.splitURL === "string" && item.splitURL !== "" && weight > 0;
  const settings = {
    archived: item.archived === true ? true : undefined,
    disabled: item.hasPassword === true ? true : undefined,
    expired_url: item.expiredURL || undefined,
    max_clicks: item.clicksLimit ?? undefined,
    forward_query: typeof item.skipQS === "boolean" ? !item.skipQS : undefined,
    redirect_status: item.redirectType ?? undefined,
    rules: rules.length > 0 ? rules : undefined,
    split: isSplit ? { arms: [{ url: item.splitURL, weight }] } : undefined,
    utm_source: item.utmSource ?? undefined,
    utm_medium: item.utmMedium ?? undefined,
    utm_campaign: item.utmCampaign ?? undefined,
    utm_term: item.utmTerm ?? undefined,
    utm_content: item.utmContent ?? undefined,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
