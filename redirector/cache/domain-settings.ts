/**
 * The settings of custom domains: their responses where they have no link. They are read from the
 * store on first use, and changes of the store keep them current.
 */
import { LRUCache } from "lru-cache";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  type DomainNotice,
  type DomainSettings,
  isDomainNotice,
} from "../../shared/contracts/notices.ts";
import { type PageResponse, redirectResponse } from "../http/response.ts";

/** Maximum domains in the cache, and bytes as JSON; as objects they take several times as much. */
const DOMAINS_MAX = 10_000;
const SETTINGS_BYTES_MAX = 8 * 1024 * 1024;

/** The size of a domain without settings. */
const ENTRY_BYTES = 64;

/** How long clients may cache an app association file. */
const APP_FILE_MAX_AGE_SECONDS = 300;

type DomainRedirect = { url: string; response: PageResponse };

/** A domain's responses; undefined where it has no setting. */
export type DomainResponses = {
  /** The account of the domain; "" when its notice does not name it. */
  accountId: string;
  root: DomainRedirect | undefined;
  not_found: DomainRedirect | undefined;
  expired: DomainRedirect | undefined;
  /** Files by their paths. */
  files: ReadonlyMap<string, PageResponse>;
  fold: DomainSettings["fold"];
  redirectStatus: DomainSettings["redirect_status"];
};

type Entry = { notice: DomainNotice | undefined; responses: DomainResponses | null };

export class DomainSettingsCache {
  readonly #entries: LRUCache<string, Entry>;

  constructor(domainsMax = DOMAINS_MAX) {
    this.#entries = new LRUCache<string, Entry>({
      max: domainsMax,
      maxSize: SETTINGS_BYTES_MAX,
      sizeCalculation: ({ notice }) =>
        ENTRY_BYTES + (notice === undefined ? 0 : JSON.stringify(notice.settings).length),
    });
  }

  /** A domain's responses; null when it has no settings, undefined when that is unknown. */
  get(domain: string): DomainResponses | null | undefined {
    return this.#entries.get(domain)?.responses;
  }

  /** Applies a domain's record; undefined for a domain without one. */
  apply(domain: string, record: LinkRecord | undefined): void {
    const notice = record !== undefined && isDomainNotice(record) ? record : undefined;
    const isEmpty = notice === undefined || Object.keys(notice.settings).length === 0;
    const responses = isEmpty ? null : toResponses(notice);
    this.#entries.set(domain, { notice, responses });
  }

  clear(): void {
    this.#entries.clear();
  }
}

function toResponses({ settings, account_id = "" }: DomainNotice): DomainResponses {
  const { root_url, not_found_url, expired_url, fold, redirect_status } = settings;
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
    redirectStatus: redirect_status,
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
