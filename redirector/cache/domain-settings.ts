/**
 * The settings of custom domains: what they answer where they have no link. They are read from the feed when a domain first
 * needs them, and kept current by it.
 */
import { LRUCache } from "lru-cache";

import {
  type DomainNotice,
  type DomainSettings,
  isDomainNotice,
} from "../../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { type PageResponse, redirectResponse } from "../http/response.ts";

/** Most domains whose settings are known, and most bytes of them as JSON; as objects they take some times as much. */
const DOMAINS_MAX = 10_000;
const SETTINGS_BYTES_MAX = 8 * 1024 * 1024;

/** What a domain without settings takes. */
const ENTRY_BYTES = 64;

/** How long clients may keep a file for apps. */
const APP_FILE_MAX_AGE_SECONDS = 300;

/** Where a domain redirects. */
type DomainRedirect = { url: string; response: PageResponse };

/** What a domain answers; undefined for what it has not set. */
export type DomainAnswers = {
  /** The account of the domain; "" when its notice does not say. */
  accountId: string;
  root: DomainRedirect | undefined;
  not_found: DomainRedirect | undefined;
  expired: DomainRedirect | undefined;
  /** Files by their paths. */
  files: ReadonlyMap<string, PageResponse>;
  fold: DomainSettings["fold"];
};

type Entry = { version: number; notice: DomainNotice | undefined; answers: DomainAnswers | null };

export type DomainAnswersCache = ReturnType<typeof createDomainAnswers>;

/** Knows the settings of `domainsMax` domains at most. */
export function createDomainAnswers(domainsMax = DOMAINS_MAX) {
  const entries = new LRUCache<string, Entry>({
    max: domainsMax,
    maxSize: SETTINGS_BYTES_MAX,
    sizeCalculation: ({ notice }) =>
      ENTRY_BYTES + (notice === undefined ? 0 : JSON.stringify(notice.settings).length),
  });
  return {
    /** What a domain answers; null when it has set nothing, undefined when that is not known. */
    get: (domain: string): DomainAnswers | null | undefined => entries.get(domain)?.answers,
    /** Takes over a record of the feed, unless a newer one is known; undefined for a domain that has none. */
    apply(domain: string, record: LinkRecord | undefined): void {
      const version = record?.version ?? 0;
      const known = entries.peek(domain);
      if (known !== undefined && known.version >= version) return;
      const notice = record !== undefined && isDomainNotice(record) ? record : undefined;
      const isEmpty = notice === undefined || Object.keys(notice.settings).length === 0;
      const answers = isEmpty ? null : toAnswers(notice);
      entries.set(domain, { version, notice, answers });
    },
    /** Forgets a domain that is no more. */
    forget: (domain: string): void => void entries.delete(domain),
    /** Forgets all. */
    clear: (): void => entries.clear(),
  };
}

function toAnswers({ settings, account_id = "" }: DomainNotice): DomainAnswers {
  const { root_url, not_found_url, expired_url, fold } = settings;
  const { apple_app_site_association, assetlinks } = settings;
  const files = new Map<string, PageResponse>();
  if (apple_app_site_association !== undefined)
    files.set("/.well-known/apple-app-site-association", fileResponse(apple_app_site_association));
  if (assetlinks !== undefined) files.set("/.well-known/assetlinks.json", fileResponse(assetlinks));
  return {
    accountId: account_id,
    root: toRedirect(root_url),
    not_found: toRedirect(not_found_url),
    expired: toRedirect(expired_url),
    files,
    fold,
  };
}

const toRedirect = (url: string | undefined): DomainRedirect | undefined =>
  url === undefined ? undefined : { url, response: redirectResponse(url) };

const fileResponse = (content: unknown): PageResponse => ({
  status: 200,
  headers: {
    "content-type": "application/json",
    "cache-control": `max-age=${APP_FILE_MAX_AGE_SECONDS}`,
    "x-content-type-options": "nosniff",
  },
  body: Buffer.from(JSON.stringify(content)),
});
