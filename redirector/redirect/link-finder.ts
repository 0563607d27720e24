/**
 * Finds the requested link, and the settings of its domain: in memory, in the store of the host, or
 * later in the log.
 */
import { foldAlias } from "../../shared/contracts/alias.ts";
import { DEFAULT_DOMAIN, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { DOMAIN_ALIAS } from "../../shared/contracts/notices.ts";
import {
  DEFAULT_REDIRECT_STATUS,
  type RedirectStatus,
} from "../../shared/contracts/redirect-status.ts";
import type { CachedLink, CachedState } from "../../shared/links-store/record.ts";
import type { DomainResponses, DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { RequestHead } from "../http/request.ts";

/** The links of the host, behind those in memory. */
export interface LinkSource {
  /**
   * Finds a link or notice in the store, and caches a link. Returns null when there is none, and
   * undefined when that is unknown, or when reading could take long.
   */
  find(domain: string, alias: string): LinkRecord | null | undefined;
  /** As `find`, however long that takes. Throws when it is unknown whether there is a link. */
  fetch(domain: string, alias: string): Promise<LinkRecord | undefined>;
}

export class LinkFinder {
  readonly #cache: LinkCache;
  readonly #links: LinkSource;
  readonly #domains: DomainFinder;

  constructor(cache: LinkCache, links: LinkSource, domains: DomainFinder) {
    this.#cache = cache;
    this.#links = links;
    this.#domains = domains;
  }

  /**
   * The cached link at the bytes of a path; undefined when there is none, also when one was
   * deleted: the path may mean another link.
   */
  findByPath(domain: string, head: RequestHead): CachedLink | "taken_down" | undefined {
    return this.#cache.get(domain, head.bytes, head.path) ?? undefined;
  }

  /** The cached link of an alias, in the case that the domain uses. */
  findCached(domain: string, alias: string): CachedState | undefined {
    const state = this.#cache.find(domain, alias);
    if (state !== undefined && state !== null) return state;
    const fold = this.#domains.foldOf(domain);
    if (fold === undefined) return state;
    const lower = foldAlias(alias);
    if (lower === alias) return state;
    const folded = this.#cache.find(domain, lower);
    // While the domain switches, an alias as typed may exist that is not cached.
    return folded === null && fold === "switching" ? state : folded;
  }

  /**
   * Loads a link from the store into the cache; returns its record. Null when the store has none,
   * and undefined when that takes longer.
   */
  findStored(domain: string, alias: string): LinkRecord | null | undefined {
    if (!this.#domains.isKnown(domain)) return undefined;
    const found: LinkRecord[] = [];
    for (const name of this.#aliasesOf(domain, alias)) {
      const record = this.#links.find(domain, name);
      if (record === undefined) return undefined;
      if (record !== null) found.push(record);
    }
    return firstActive(found) ?? null;
  }

  /** As `findStored`, however long that takes. Throws when it is unknown. */
  async fetch(domain: string, alias: string): Promise<LinkRecord | undefined> {
    if (!this.#domains.isKnown(domain)) await this.#domains.fetch(domain);
    const names = this.#aliasesOf(domain, alias);
    const found = await Promise.all(names.map((name) => this.#links.fetch(domain, name)));
    return firstActive(found.filter((record) => record !== undefined));
  }

  /**
   * The possible aliases of a link: a domain may have them in lower case, or still in both cases.
   */
  #aliasesOf(domain: string, alias: string): string[] {
    const fold = this.#domains.foldOf(domain);
    if (fold === undefined) return [alias];
    const lower = foldAlias(alias);
    if (lower === alias) return [alias];
    return fold === "all" ? [lower] : [alias, lower];
  }
}

/** Of a link's records under several aliases, the active one. */
const firstActive = (records: readonly LinkRecord[]): LinkRecord | undefined =>
  records.find(({ state }) => state === "active") ?? records[0];

export class DomainFinder {
  readonly #domains: DomainSettingsCache;
  readonly #links: LinkSource;

  constructor(domains: DomainSettingsCache, links: LinkSource) {
    this.#domains = domains;
    this.#links = links;
  }

  /**
   * A domain's responses in memory; null when it has no settings, undefined when that is unknown.
   */
  get(domain: string): DomainResponses | null | undefined {
    return this.#domains.get(domain);
  }

  /** How a domain treats the case of aliases; undefined if it matters, or while unknown. */
  foldOf(domain: string): DomainResponses["fold"] {
    return domain === DEFAULT_DOMAIN ? undefined : this.#domains.get(domain)?.fold;
  }

  /** The status of a domain's redirects; the usual one while it is unknown. */
  redirectStatusOf(domain: string): RedirectStatus {
    if (domain === DEFAULT_DOMAIN) return DEFAULT_REDIRECT_STATUS;
    let responses = this.#domains.get(domain);
    // Only the first redirect of a domain reads the store.
    if (responses === undefined && this.isKnown(domain)) responses = this.#domains.get(domain);
    return responses?.redirectStatus ?? DEFAULT_REDIRECT_STATUS;
  }

  /** Whether the settings of a domain are known, after a lookup in the store. */
  isKnown(domain: string): boolean {
    if (domain === DEFAULT_DOMAIN || this.#domains.get(domain) !== undefined) return true;
    const notice = this.#links.find(domain, DOMAIN_ALIAS);
    if (notice === undefined) return false;
    this.#domains.apply(domain, notice ?? undefined);
    return true;
  }

  /** Reads whether a domain has settings, however long that takes. Throws when that is unknown. */
  async fetch(domain: string): Promise<boolean> {
    const notice = await this.#links.fetch(domain, DOMAIN_ALIAS);
    this.#domains.apply(domain, notice);
    return notice !== undefined;
  }
}
