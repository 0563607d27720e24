/**
 * The journey of a request, independent of sockets. Each is a list of steps: resolve the host, find
 * the link, decide, guard (password, confirmation, limit), record the click, respond. It responds
 * at once for links in memory and in the store; only unknown aliases, passwords and new leases of
 * limits return a promise.
 */
import { DEFAULT_DOMAIN, type LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Preview } from "../../shared/contracts/redirect-settings.ts";
import { uriOf } from "../../shared/contracts/web-url.ts";
import { normalizeHost } from "../../shared/hosts.ts";
import { newUuid } from "../../shared/ids.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import type { DomainResponses, DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import type { Config } from "../config.ts";
import type { FailureLog } from "../failures/reporter.ts";
import {
  copyRequest,
  type IncomingRequest,
  type RequestHandler,
  toLatin1,
} from "../http/request.ts";
import {
  type PageResponse,
  type RedirectorResponse,
  redirectResponse,
  settle,
} from "../http/response.ts";
import type { ClickLog } from "../journal/journal.ts";
import type { ClickSource } from "../limits/click-limits.ts";
import { creationTimeOf, previewPage } from "../pages/about-page.ts";
import { type ErrorPages, FAVICON, HEALTHY, ROBOTS } from "../pages/error-pages.ts";
import { FORM_BYTES_MAX, type PasswordCheck } from "../passwords/password.ts";
import { UnlockCookies } from "../passwords/unlock-cookie.ts";
import { Lookups } from "../visitors/lookups.ts";
import type { Locate } from "../visitors/request-facts.ts";
import { ABOUT, type AliasPath, aliasPathOf } from "./beyond-alias.ts";
import {
  decide,
  decideAt,
  type Decision,
  type FinalDecision,
  type Miss,
  UNKNOWN_ALIAS,
} from "./decision.ts";
import { FailureCounter } from "./failure-counter.ts";
import { Guards, PasswordGuard, toVisit } from "./guards.ts";
import { DomainFinder, LinkFinder, type LinkSource } from "./link-finder.ts";
import { Redirects } from "./redirects.ts";
import { RequestReader, toText } from "./request-reader.ts";

type MaybeLater = RedirectorResponse | Promise<RedirectorResponse>;

/** Where programs look for files of a site (RFC 8615). */
const WELL_KNOWN = "/.well-known/";

type MissingKind = "not_found" | "expired";

/** There is no link, or no longer one. */
type MissingDecision = Extract<Decision, { kind: MissingKind }>;

/** Decisions whose response is a page, or a redirect to a configured URL. */
type PageDecision = Exclude<
  FinalDecision,
  { kind: "redirect" | "guarded" | "password" | "not_found" | "expired" }
>;

/** The parts of the process that requests use; tests have the interfaces among them in memory. */
export type RequestParts = {
  cache: LinkCache;
  takedowns: Takedowns;
  domains: DomainSettingsCache;
  links: LinkSource;
  journal: ClickLog;
  limits: ClickSource;
  failures: FailureLog;
  pages: ErrorPages;
  passwords: PasswordCheck;
  locate: Locate;
  /** Whether the process is behind: then links that are not in memory get 503. */
  isBehind: () => boolean;
};

export class Redirector implements RequestHandler {
  readonly formBytesMax = FORM_BYTES_MAX;
  readonly lookups = new Lookups();
  readonly #journal: ClickLog;
  readonly #isBehind: () => boolean;
  readonly #reader: RequestReader;
  readonly #finder: LinkFinder;
  readonly #domains: DomainFinder;
  readonly #redirects: Redirects;
  readonly #guards: Guards;
  readonly #passwordGuard: PasswordGuard;
  readonly #takedowns: Takedowns;
  readonly #failures: FailureCounter;
  readonly #scheme: "http:" | "https:";
  readonly #root: PageResponse | undefined;
  /** Where visitors report links; undefined where they cannot. */
  readonly #reportPage: string | undefined;
  /** Hosts whose short links have no about page (`/alias+`). */
  readonly #aboutOffHosts: ReadonlySet<string>;

  constructor(config: Config, parts: RequestParts) {
    const { SHORT_URL, API_URL, ROOT_REDIRECT_URL, LINK_UNLOCK_SECRET = newUuid() } = config;
    const isSecure = SHORT_URL.startsWith("https:");
    this.#scheme = isSecure ? "https:" : "http:";
    this.#root =
      ROOT_REDIRECT_URL === undefined ? undefined : redirectResponse(uriOf(ROOT_REDIRECT_URL));
    this.#reportPage = API_URL === undefined ? undefined : `${new URL(API_URL).origin}/report-link`;
    this.#aboutOffHosts = new Set(config.ABOUT_PAGE_OFF_HOSTS.map(normalizeHost));
    this.#journal = parts.journal;
    this.#isBehind = parts.isBehind;
    this.#reader = new RequestReader(config, parts.limits, parts.locate);
    this.#domains = new DomainFinder(parts.domains, parts.links);
    this.#finder = new LinkFinder(parts.cache, parts.links, this.#domains);
    this.#redirects = new Redirects(parts.journal, this.#reader, this.#domains, parts.pages);
    this.#failures = new FailureCounter(parts.failures, this.#domains, this.#reader);
    this.#guards = new Guards(this.#reader, this.#redirects, this.#failures, parts.limits);
    const cookies = new UnlockCookies(LINK_UNLOCK_SECRET, isSecure);
    this.#passwordGuard = new PasswordGuard(this.#guards, parts.passwords, cookies);
    this.#takedowns = parts.takedowns;
  }

  handle(incoming: IncomingRequest): MaybeLater {
    const request = this.#reader.begin(incoming);
    const { domain } = request;
    const link = domain === undefined ? undefined : this.#finder.findByPath(domain, incoming.head);
    const decision = decide(request, link);
    return decision.kind === "miss"
      ? this.#respondToMiss(incoming, decision)
      : this.#respond(incoming, decision);
  }

  commit(): void {
    this.#journal.commit();
  }

  get responses(): Readonly<Record<string, number>> {
    return this.#redirects.counts;
  }

  /** Responds as decided; `record` is the link's own, if it was read for this request. */
  #respond(incoming: IncomingRequest, decision: FinalDecision, record?: LinkRecord): MaybeLater {
    switch (decision.kind) {
      case "redirect":
        return this.#redirects.respond(incoming, decision.link, "redirect");
      case "guarded":
        return this.#guards.respond(toVisit(incoming), decision.link, decision.settings);
      case "password":
        return this.#passwordGuard.respond(toVisit(incoming), decision.link);
      case "not_found":
      case "expired":
        return this.#respondMissing(incoming, decision);
      default:
        return this.#respondPage(incoming, decision, record);
    }
  }

  #respondPage(
    incoming: IncomingRequest,
    decision: PageDecision,
    record: LinkRecord | undefined,
  ): RedirectorResponse {
    const { head } = incoming;
    this.#redirects.count(decision.kind);
    if (decision.kind === "expired_url" || decision.kind === "limit_reached")
      this.#failures.count(head, decision.failure);
    const pages = this.#redirects.pages;
    switch (decision.kind) {
      case "preview":
        return this.#previewPage(incoming, decision.link, decision.preview);
      case "about":
        return this.#aboutPage(incoming, decision.link, record);
      case "expired_url":
        return redirectResponse(decision.url);
      case "root":
        return this.#root ?? pages.of(head).message("home");
      case "robots":
        return ROBOTS;
      case "favicon":
        return FAVICON;
      case "healthy":
        return HEALTHY;
      case "method_not_allowed":
        return pages.of(head).message("method_not_allowed", { allow: decision.allow });
      default:
        return pages.of(head).message(decision.kind);
    }
  }

  /** Renders a link's card for link-preview agents, with its short URL. */
  #previewPage({ head }: IncomingRequest, link: CachedLink, preview: Preview): PageResponse {
    const path = aliasPathOf(head, this.#reader.forwardsPath(link));
    return previewPage(preview, `${this.#scheme}//${head.host}${path}`);
  }

  /** Renders the about page `/alias+`, which shows fields of the record that are not cached. */
  #aboutPage(
    incoming: IncomingRequest,
    link: CachedLink,
    record: LinkRecord | undefined,
  ): PageResponse {
    const active = record?.state === "active" ? record : undefined;
    const { split, preview } = this.#reader.settingsOf(link)?.settings ?? {};
    const path = aliasPathOf(incoming.head, false);
    const shortUrl = `${this.#scheme}//${incoming.head.host}${path}`;
    const about = {
      destination: toText(this.#reader.targetOf(incoming, link)?.url ?? link.destination),
      varies: link.rules !== null || split !== undefined,
      // The link's own title is for its account only.
      title: preview?.title,
      createdAt: active && creationTimeOf(active.link_id),
      hostChangedAt: active?.host_changed_at,
      path,
      reportUrl: this.#reportPage && `${this.#reportPage}?url=${encodeURIComponent(shortUrl)}`,
    };
    return this.#redirects.pages.of(incoming.head).about(about, incoming.now);
  }

  /**
   * Responds to a request without a cached link at the path: the first of its aliases that has a
   * link decides. It may be in memory, in the store, or in the log.
   */
  #respondToMiss(incoming: IncomingRequest, { domain, names: all }: Miss): MaybeLater {
    const isOff = this.#aboutOffHosts.has(this.#reader.hostOf(incoming.head));
    const names = isOff ? all.filter(({ suffix }) => suffix !== ABOUT) : all;
    if (names.length === 0) return this.#respond(incoming, { kind: "not_found" });
    let isCertain = true;
    for (const [i, name] of names.entries()) {
      // A link's about page shows fields that are not cached.
      const isAbout = name.suffix === ABOUT;
      let decision = isAbout ? undefined : this.#decideAt(incoming, domain, name);
      let record: LinkRecord | undefined;
      if (decision === undefined) {
        // A process that is behind looks into neither store nor log: that costs many times as much
        // as the redirects of cached links, which wait for it.
        if (this.#isBehind()) return this.#refuse(incoming, "unavailable", "2");
        const stored = this.#finder.findStored(domain, name.alias);
        if (stored === null) {
          isCertain = false;
          continue;
        }
        record = stored;
        if (record !== undefined) decision = this.#decideAt(incoming, domain, name);
        if (decision === undefined)
          return this.#respondOnceFetched(copyRequest(incoming), domain, names.slice(i));
      }
      const isNotFound = decision === null || decision.kind === "not_found";
      if (decision !== null && (isCertain || !isNotFound))
        return this.#respond(incoming, decision, record);
    }
    // A link that the store lacks may just have been created.
    return isCertain
      ? this.#respond(incoming, UNKNOWN_ALIAS)
      : this.#respondOnceFetched(copyRequest(incoming), domain, names);
  }

  /** Decides with the cached link; null when there is none, undefined when it is not in memory. */
  #decideAt(
    incoming: IncomingRequest,
    domain: string,
    { alias, suffix }: AliasPath,
    now = incoming.now,
  ): FinalDecision | null | undefined {
    const request = this.#reader.begin(incoming, now);
    const link = this.#finder.findCached(domain, alias);
    return link === undefined || link === null ? link : decideAt(request, suffix, link);
  }

  async #respondOnceFetched(
    incoming: IncomingRequest,
    domain: string,
    names: readonly AliasPath[],
  ): Promise<RedirectorResponse> {
    const release = this.lookups.acquire(this.#reader.addressOf(incoming));
    if (release === "rate_limited") return this.#refuse(incoming, "rate_limited", "10");
    if (release === "overloaded") return this.#refuse(incoming, "unavailable", "2");
    let found: boolean | undefined;
    let records: readonly (LinkRecord | undefined)[];
    try {
      records = await Promise.all(names.map(({ alias }) => this.#finder.fetch(domain, alias)));
      found = records.some((record) => record !== undefined);
    } catch {
      return this.#refuse(incoming, "unavailable", "2");
    } finally {
      release(found);
    }
    const i = records.findIndex((record) => record?.state === "active");
    const name = names[i];
    const decision = name && this.#decideFetched(incoming, domain, name);
    return await settle(this.#respond(incoming, decision ?? UNKNOWN_ALIAS, records[i]));
  }

  /** Decides for a link that was just fetched; null when its alias was deleted meanwhile. */
  #decideFetched(incoming: IncomingRequest, domain: string, name: AliasPath) {
    const decision = this.#decideAt(incoming, domain, name, Date.now());
    // If a link has two aliases, one was deleted.
    if (decision !== undefined || domain !== DEFAULT_DOMAIN) return decision;
    // The cache is too small for this one link.
    throw new Error("A fetched link is not in the cache.");
  }

  /** Responds without a link: with an error page, or as the custom domain is configured. */
  #respondMissing(incoming: IncomingRequest, { kind, failure }: MissingDecision): MaybeLater {
    const { head } = incoming;
    const domain = this.#reader.domainOf(head);
    if (domain !== undefined && !this.#domains.isKnown(domain))
      return this.#respondOnceKnown(copyRequest(incoming), domain, kind);
    this.#failures.count(head, failure);
    const isRead = head.method === "GET" || head.method === "HEAD";
    const isCustom = domain !== undefined && domain !== DEFAULT_DOMAIN;
    const responses = isRead && isCustom ? this.#domains.get(domain) : undefined;
    return responses === undefined || responses === null
      ? this.#redirects.message(head, kind)
      : this.#respondAsDomain(incoming, responses, kind);
  }

  /** Responds with a file of the domain, or redirects to the URL that it has for such requests. */
  #respondAsDomain(
    { head }: IncomingRequest,
    responses: DomainResponses,
    kind: MissingKind,
  ): RedirectorResponse {
    const path = toLatin1(head, head.path);
    const file = responses.files.get(path);
    const fallback = path === "/" ? (responses.root ?? responses.not_found) : responses[kind];
    // Programs that request files there follow no redirect, or should not.
    const redirect = path.startsWith(WELL_KNOWN) ? undefined : fallback;
    const response = file ?? redirect?.response;
    if (response === undefined) return this.#redirects.message(head, kind);
    // A domain's responses are taken down with its account and with the hosts that it redirects to,
    // as links are.
    const facts = { account_id: responses.accountId, destination: redirect?.url ?? "" };
    if (this.#takedowns.covers(facts)) return this.#redirects.message(head, "taken_down");
    this.#redirects.count(file === undefined ? "domain_url" : "app_file");
    return response;
  }

  /** Reads a domain's settings, then handles the request again; without them if it cannot. */
  async #respondOnceKnown(
    incoming: IncomingRequest,
    domain: string,
    kind: MissingKind,
  ): Promise<RedirectorResponse> {
    const release = this.lookups.acquire(this.#reader.addressOf(incoming));
    if (typeof release === "string") return this.#redirects.message(incoming.head, kind);
    let found: boolean | undefined;
    try {
      found = await this.#domains.fetch(domain);
    } catch {
      return this.#redirects.message(incoming.head, kind);
    } finally {
      release(found);
    }
    return await settle(this.handle(incoming));
  }

  #refuse(
    { head }: IncomingRequest,
    kind: "rate_limited" | "unavailable",
    retryAfter: string,
  ): RedirectorResponse {
    return this.#redirects.message(head, kind, { "retry-after": retryAfter });
  }
}
