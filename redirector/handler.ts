/** Handles requests: decides, records the click and makes the response. Independent of sockets. */
import { type ByteRange, type ByteSlice, copySlice, sliceToString } from "../shared/bytes.ts";
import type { ClientAddress } from "../shared/client-address.ts";
import { clickTextEnd, newRawClick } from "../shared/contracts/click-segment.ts";
import { DOMAIN_ALIAS } from "../shared/contracts/feed-notices.ts";
import type { LinkExtras } from "../shared/contracts/link-extras.ts";
import { DEFAULT_DOMAIN, type LinkRecord } from "../shared/contracts/link-record.ts";
import type { Target } from "../shared/decision/targets.ts";
import { normalizeHost } from "../shared/hosts.ts";
import { type CachedLink, type CachedState, copyLink } from "../shared/links-store/record.ts";
import { aboutContent, creationTimeOf } from "./about-page.ts";
import { ABOUT, suffixOf } from "./beyond-alias.ts";
import { createExtrasCache, type ExtrasOf } from "./cache/extras.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import {
  decide,
  decideBeyond,
  type Decision,
  type Miss,
  type ShortRequest,
  UNKNOWN_ALIAS,
} from "./decision.ts";
import type { DomainAnswersCache } from "./domain-settings.ts";
import {
  type ErrorPages,
  FAVICON,
  HEALTHY,
  type PageResponse,
  redirectResponse,
  ROBOTS,
} from "./error-pages.ts";
import { createFailureCounter } from "./failures/failure-counter.ts";
import type { FailureReporter } from "./failures/reporter.ts";
import { forwardPath } from "./forward-path.ts";
import { forwardQuery } from "./forward-query.ts";
import { createGuards, guardsIn, mustConfirm } from "./guards.ts";
import { decodeLatin1 } from "./http/bytes.ts";
import { normalizePath } from "./http/path.ts";
import type { RequestHead } from "./http/request-head.ts";
import type { RedirectorResponse } from "./http/response-writer.ts";
import type { Journal } from "./journal/journal.ts";
import type { ClickLimits, Taken } from "./limits/click-limits.ts";
import type { HostLinks } from "./links/host-links.ts";
import type { Lookups } from "./lookups.ts";
import { type PasswordCheck, readFormField, readPassword } from "./password.ts";
import { previewPage } from "./preview-page.ts";
import { createRequestFacts, type Locate, type VisitorFacts } from "./request-facts.ts";
import type { Takedowns } from "./takedowns.ts";
import type { UnlockCookies } from "./unlock-cookie.ts";

/** What a response is counted as: a decision, or why it could not be made or carried out. */
type ResponseKind =
  | Exclude<Decision["kind"], "guarded">
  | "confirm"
  | "busy"
  | "domain_url"
  | "app_file"
  | "unavailable"
  | "rate_limited"
  | "uri_too_long";

export type HandlerDeps = {
  cache: Pick<LinkCache, "get">;
  links: Pick<HostLinks, "find" | "fetch">;
  domains: Pick<DomainAnswersCache, "get" | "apply">;
  takedowns: Pick<Takedowns, "covers">;
  journal: Pick<Journal, "append">;
  clientAddress: ClientAddress;
  checkPassword: PasswordCheck;
  unlockCookies: UnlockCookies;
  lookups: Lookups;
  limits: Pick<ClickLimits, "take" | "look" | "isSpent">;
  failures: Pick<FailureReporter, "countLink" | "countUnknownAlias">;
  pages: ErrorPages;
  /** Hosts of the default short domain. */
  hosts: ReadonlySet<string>;
  rootRedirectUrl: string | undefined;
  /** The scheme of short URLs. */
  scheme: "http:" | "https:";
  /** Hosts without pages about links (`/alias+`). */
  aboutOffHosts: ReadonlySet<string>;
  locate: Locate;
  /** Called for every response. */
  onResponse: (kind: ResponseKind) => void;
};

/** A complete request. The caller reuses its bytes as soon as the handler has returned. */
export type IncomingRequest = {
  head: RequestHead;
  /** The posted form; empty for other requests. */
  body: ByteSlice;
  /** Time of arrival, in Unix milliseconds. */
  now: number;
  /** The normalized IP address of the connection's peer. */
  peer: string;
};

export type Handler = ReturnType<typeof createHandler>;

/** Where a request leads if it gets a click of the limit. */
type Led = { target: Target | undefined; location: string | ByteSlice; extras: LinkExtras };

/** A host as clicks record it, and the domain it resolves to; undefined when nothing is served there. */
type HostResolution = { host: string; domain: string | undefined };

/** The most hosts whose resolution is cached. */
const HOSTS_MAX = 10_000;

/** Where programs look for files of a site (RFC 8615). */
const WELL_KNOWN = "/.well-known/";

const CUSTOM_HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/** Creates the handler. It responds synchronously for links of the store; only unknown aliases, passwords and new leases of limits return a promise. */
export function createHandler(deps: HandlerDeps) {
  const {
    cache,
    links,
    domains,
    takedowns,
    journal,
    clientAddress,
    checkPassword,
    unlockCookies,
    lookups,
    limits,
    pages,
    hosts,
    scheme,
    aboutOffHosts,
    onResponse,
  } = deps;
  const compiledExtrasOf = createExtrasCache();
  const failures = createFailureCounter({
    failures: deps.failures,
    domains,
    domainOf: (host) => resolveHost(host).domain,
  });
  const guards = createGuards({ limits, pages, onResponse });
  const factsOf = createRequestFacts({ locate: deps.locate, ownHosts: hosts });
  const resolutions = new Map<string, HostResolution>();
  // Nearly always the next request has the same host.
  let lastHost = "";
  let lastResolution: HostResolution = { host: "", domain: undefined };
  // Reused by all requests, so that a redirect allocates nothing: each is read before the next request is handled.
  let current: IncomingRequest;
  /** The link of the current request whose extras were read last, and those: a redirect asks for them four times. */
  let readLink: CachedLink | undefined;
  let readExtras: ReturnType<ExtrasOf>;
  /** The request whose facts these are: a confirmation and the link's rules may both ask for them. */
  let factsRequest: IncomingRequest | undefined;
  let facts: VisitorFacts;
  const shortRequest: ShortRequest = {
    method: "",
    domain: "",
    // Decoded only on a miss: the cache is looked up by bytes.
    get path() {
      return normalizePath(toLatin1(current.head, current.head.path));
    },
    get userAgent() {
      const { bytes, userAgent } = current.head;
      return decodeLatin1(bytes, userAgent.start, clickTextEnd("userAgent", bytes, userAgent));
    },
  };
  const click = newRawClick();
  const redirect: { location: string | ByteSlice } = { location: "" };
  const root =
    deps.rootRedirectUrl === undefined
      ? pages.message("home")
      : redirectResponse(new URL(deps.rootRedirectUrl).href);

  function extrasOf(link: CachedLink): ReturnType<ExtrasOf> {
    if (link === readLink) return readExtras;
    readExtras = compiledExtrasOf(link);
    readLink = link;
    return readExtras;
  }

  /** The cache returns each link in the same object, as requests come in one, so what was read of both is forgotten. */
  function begin(incoming: IncomingRequest): void {
    current = incoming;
    readLink = undefined;
    factsRequest = undefined;
    shortRequest.method = incoming.head.method;
  }

  function handle(incoming: IncomingRequest): RedirectorResponse | Promise<RedirectorResponse> {
    const decision = decideOn(incoming, incoming.now);
    return decision.kind === "miss"
      ? respondToUncached(incoming, decision)
      : respond(incoming, decision);
  }

  /** The path is no cached alias: it may be one, or go beyond one. */
  function respondToUncached(
    incoming: IncomingRequest,
    miss: Miss,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    // The page about a link needs what is not cached.
    if (miss.suffix === ABOUT) {
      return aboutOffHosts.has(resolveHost(incoming.head.host).host)
        ? respond(incoming, { kind: "not_found" })
        : respondToMiss(incoming, miss);
    }
    const decision = miss.suffix === "" ? miss : decideAgain(incoming, miss, incoming.now);
    return decision.kind === "miss"
      ? respondToMiss(incoming, decision)
      : respond(incoming, decision);
  }

  /** The link is not cached: nearly always the store has it. */
  function respondToMiss(
    incoming: IncomingRequest,
    miss: Miss,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    const record = findInStore(miss.domain, miss.alias);
    const decision = record === undefined ? miss : decideAgain(incoming, miss, incoming.now);
    return decision.kind === "miss"
      ? respondOnceFetched(copyRequest(incoming), miss)
      : respond(incoming, decision, record);
  }

  /** Decides once the link of a miss may be cached. */
  function decideAgain(incoming: IncomingRequest, miss: Miss, now: number): Decision {
    if (miss.suffix === "") return decideOn(incoming, now);
    begin(incoming);
    shortRequest.domain = miss.domain;
    const link = findByPath(miss.domain, `/${miss.alias}`);
    return decideBeyond(shortRequest, miss, link, now, extrasOf, limits.isSpent);
  }

  function decideOn(incoming: IncomingRequest, now: number): Decision {
    const { head } = incoming;
    const { domain } = resolveHost(head.host);
    begin(incoming);
    shortRequest.domain = domain;
    const link = domain === undefined ? undefined : findLink(domain, head);
    return decide(shortRequest, link, now, extrasOf, limits.isSpent);
  }

  /** Finds the cached link of a path; of the normalized path only when there is none at its bytes. */
  function findLink(domain: string, head: RequestHead): CachedState | undefined {
    const link = cache.get(domain, head.bytes, head.path);
    if (link !== undefined && (link !== null || domain === DEFAULT_DOMAIN)) return link;
    const { path } = shortRequest;
    if (path === undefined) return link;
    const isNormal = path.length === head.path.end - head.path.start;
    return findByPath(domain, path, isNormal ? link : getByPath(domain, path));
  }

  /** Finds the cached link at a path; `state` is that of the path as it is. */
  function findByPath(
    domain: string,
    path: string,
    state: CachedState | undefined = getByPath(domain, path),
  ): CachedState | undefined {
    if (domain === DEFAULT_DOMAIN || (state !== undefined && state !== null)) return state;
    return findFolded(domain, path, state);
  }

  /** Finds a cached link by its alias in lower case, where the domain wants that; else returns `state`. */
  function findFolded(
    domain: string,
    path: string,
    state: null | undefined,
  ): CachedState | undefined {
    const fold = domains.get(domain)?.fold;
    const lower = path.toLowerCase();
    if (fold === undefined || lower === path) return state;
    const folded = getByPath(domain, lower);
    // While the domain switches, there may be one as typed that is not cached.
    return folded === null && fold === "switching" ? state : folded;
  }

  function getByPath(domain: string, path: string): CachedState | undefined {
    const bytes = Buffer.from(path, "latin1");
    return cache.get(domain, bytes, { start: 0, end: bytes.length });
  }

  /** The aliases under which a link may be: domains may have them in lower case, or still some in both cases. */
  function aliasesOf(domain: string, alias: string): string[] {
    const fold = domain === DEFAULT_DOMAIN ? undefined : domains.get(domain)?.fold;
    const lower = alias.toLowerCase();
    if (fold === undefined || lower === alias) return [alias];
    return fold === "all" ? [lower] : [alias, lower];
  }

  /** Whether the settings of a domain are known, once they were looked for in the store. */
  function knowsDomain(domain: string): boolean {
    if (domain === DEFAULT_DOMAIN || domains.get(domain) !== undefined) return true;
    const notice = links.find(domain, DOMAIN_ALIAS);
    if (notice === undefined) return false;
    domains.apply(domain, notice ?? undefined);
    return true;
  }

  /** Takes a link from the store into the cache; returns its record. Undefined when that takes longer, or there is none. */
  function findInStore(domain: string, alias: string): LinkRecord | undefined {
    if (!knowsDomain(domain)) return undefined;
    const found: LinkRecord[] = [];
    for (const name of aliasesOf(domain, alias)) {
      const record = links.find(domain, name);
      if (record === undefined) return undefined;
      if (record !== null) found.push(record);
    }
    return firstActive(found);
  }

  /** As {@link findInStore}, but waits as long as it takes. Throws when it is not known whether there is a link. */
  async function fetchLink(domain: string, alias: string): Promise<LinkRecord | undefined> {
    if (!knowsDomain(domain)) await fetchDomain(domain);
    const names = aliasesOf(domain, alias);
    const found = await Promise.all(names.map((name) => links.fetch(domain, name)));
    return firstActive(found.filter((record) => record !== undefined));
  }

  /** Reads the settings of a domain; returns whether it has some. */
  async function fetchDomain(domain: string): Promise<boolean> {
    const notice = await links.fetch(domain, DOMAIN_ALIAS);
    domains.apply(domain, notice);
    return notice !== undefined;
  }

  async function respondOnceFetched(
    incoming: IncomingRequest,
    miss: Miss,
  ): Promise<RedirectorResponse> {
    const release = lookups.acquire(addressOf(incoming));
    if (release === "rate_limited") {
      onResponse("rate_limited");
      return pages.message("rate_limited", { "retry-after": "10" });
    }
    if (release === "overloaded") {
      onResponse("unavailable");
      return pages.message("unavailable", { "retry-after": "2" });
    }
    let found: boolean | undefined;
    let record: LinkRecord | undefined;
    try {
      record = await fetchLink(miss.domain, miss.alias);
      found = record !== undefined;
    } catch {
      onResponse("unavailable");
      return pages.message("unavailable", { "retry-after": "2" });
    } finally {
      release(found);
    }
    const decision: Decision =
      record === undefined ? UNKNOWN_ALIAS : decideAgain(incoming, miss, Date.now());
    if (decision.kind !== "miss") return await settle(respond(incoming, decision, record));
    // Of a link with two aliases, one was deleted.
    if (miss.domain !== DEFAULT_DOMAIN) return await settle(respond(incoming, UNKNOWN_ALIAS));
    // The cache is too small for this one link.
    throw new Error("A fetched link is not in the cache.");
  }

  function respond(
    incoming: IncomingRequest,
    decision: Exclude<Decision, { kind: "miss" }>,
    record?: LinkRecord,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    if (decision.kind === "redirect")
      return respondRedirect(incoming, decision.link, decision.kind);
    if (decision.kind === "guarded")
      return respondGuarded(incoming, decision.link, decision.extras);
    if (decision.kind === "password")
      return incoming.head.method === "POST"
        ? respondToPassword(copyRequest(incoming), copyLink(decision.link))
        : respondToUnlocked(incoming, decision.link);
    if (decision.kind === "not_found" || decision.kind === "expired")
      return respondWithoutLink(incoming, decision);
    onResponse(decision.kind);
    if (decision.kind === "expired_url" || decision.kind === "limit_reached")
      failures.count(incoming.head, decision.failure);
    switch (decision.kind) {
      case "preview":
        return previewPage(decision.preview, shortUrlOf(incoming));
      case "about":
        return respondAbout(incoming, decision.link, record);
      case "expired_url":
        return redirectResponse(decision.url);
      case "root":
        return root;
      case "robots":
        return ROBOTS;
      case "favicon":
        return FAVICON;
      case "healthy":
        return HEALTHY;
      case "method_not_allowed":
        return pages.message("method_not_allowed", { allow: decision.allow });
      default:
        return pages.message(decision.kind);
    }
  }

  /** Responds with the page about a link, of whose record it shows more than is cached. */
  function respondAbout(
    incoming: IncomingRequest,
    link: CachedLink,
    record: LinkRecord | undefined,
  ): RedirectorResponse {
    const active = record?.state === "active" ? record : undefined;
    const { rules, split } = extrasOf(link)?.extras ?? {};
    const destination = toText(targetOf(incoming, link)?.url ?? link.destination);
    const about = {
      destination,
      varies: rules !== undefined || split !== undefined,
      title: active?.title,
      createdAt: active && creationTimeOf(active.link_id),
      hostChangedAt: active?.host_changed_at,
      path: aliasPathOf(incoming),
    };
    return pages.page("About this link", aboutContent(about, incoming.now));
  }

  /** Responds as the domain wants it where there is no link, or none any more. */
  function respondWithoutLink(
    incoming: IncomingRequest,
    { kind, failure }: Extract<Decision, { kind: "not_found" | "expired" }>,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    const { domain } = resolveHost(incoming.head.host);
    if (domain === undefined || domain === DEFAULT_DOMAIN) {
      failures.count(incoming.head, failure);
      return respondPage(kind);
    }
    const answers = knowsDomain(domain) ? domains.get(domain) : undefined;
    if (answers === undefined) return respondOnceKnown(copyRequest(incoming), domain, kind);
    failures.count(incoming.head, failure);
    const { method } = incoming.head;
    if (answers === null || (method !== "GET" && method !== "HEAD")) return respondPage(kind);
    const path = toLatin1(incoming.head, incoming.head.path);
    const file = answers.files.get(path);
    const fallback = path === "/" ? (answers.root ?? answers.not_found) : answers[kind];
    // Programs that look for files there follow no redirect, or should not.
    const redirect = path.startsWith(WELL_KNOWN) ? undefined : fallback;
    if (file === undefined && redirect === undefined) return respondPage(kind);
    // As links do, the domain's own answers go with its account, and with the hosts they lead to.
    const facts = { account_id: answers.accountId, destination: redirect?.url ?? "" };
    if (takedowns.covers(facts)) return respondPage("taken_down");
    onResponse(file === undefined ? "domain_url" : "app_file");
    return file ?? redirect?.response ?? respondPage(kind);
  }

  function respondPage(kind: "not_found" | "expired" | "taken_down"): RedirectorResponse {
    onResponse(kind);
    return pages.message(kind);
  }

  /** Reads the settings of a domain, and then handles the request again; without them when they cannot be read. */
  async function respondOnceKnown(
    incoming: IncomingRequest,
    domain: string,
    kind: "not_found" | "expired",
  ): Promise<RedirectorResponse> {
    const release = lookups.acquire(addressOf(incoming));
    if (typeof release === "string") return respondPage(kind);
    let found: boolean | undefined;
    try {
      found = await fetchDomain(domain);
    } catch {
      return respondPage(kind);
    } finally {
      release(found);
    }
    return await settle(handle(incoming));
  }

  const shortUrlOf = (incoming: IncomingRequest): string =>
    `${scheme}//${incoming.head.host}${aliasPathOf(incoming)}`;

  /** The part of the path that is the alias, as it was sent. */
  function aliasPathOf({ head }: IncomingRequest): string {
    const path = toLatin1(head, head.path).replace(/\+?\/?$/, "");
    const slash = path.indexOf("/", 1);
    return slash < 0 ? path : path.slice(0, slash);
  }

  /** Redirects visitors with a valid unlock cookie; others get the password form. */
  function respondToUnlocked(
    incoming: IncomingRequest,
    link: CachedLink,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    const extras = guardsOf(link);
    if (!isUnlocked(incoming, link)) {
      const page = () => passwordPage("required");
      return extras === undefined
        ? page()
        : guards.unlessSpent(extras, page, failures.onLimitReached(incoming.head, link));
    }
    return extras === undefined
      ? respondRedirect(incoming, link, "password")
      : respondGuarded(incoming, link, extras);
  }

  function passwordPage(...args: Parameters<ErrorPages["password"]>): RedirectorResponse {
    onResponse("password");
    return pages.password(...args);
  }

  const guardsOf = (link: CachedLink): LinkExtras | undefined => guardsIn(extrasOf(link)?.extras);

  /** Leads on once the visitor has confirmed, where that is asked for, and the limit leaves a click. */
  function respondGuarded(
    incoming: IncomingRequest,
    link: CachedLink,
    extras: LinkExtras,
    confirmed = hasConfirmed(incoming),
  ): RedirectorResponse | Promise<RedirectorResponse> {
    const { method } = incoming.head;
    if (!confirmed && mustConfirm(extras, { method, isAutomated: () => isAutomated(incoming) }))
      return guards.askToConfirm(extras, failures.onLimitReached(incoming.head, link));
    const target = targetOf(incoming, link);
    const location = locationOf(incoming, link, target);
    if (location === undefined) return tooLong();
    const taken = extras.limit === undefined ? "taken" : limits.take(extras.limit);
    if (!(taken instanceof Promise))
      return respondTaken(incoming, link, { target, location, extras }, taken);
    const destination = toText(location);
    const led = { target, location: destination, extras };
    const request = copyRequest(incoming);
    const copy = copyLink(link);
    return taken.then((outcome) => copyResponse(respondTaken(request, copy, led, outcome)));
  }

  /** Responds to a request that has, or has not, got one of the clicks of the link's limit. */
  function respondTaken(
    incoming: IncomingRequest,
    link: CachedLink,
    { target, location, extras }: Led,
    taken: Taken,
  ): RedirectorResponse {
    if (taken !== "taken")
      return guards.refuse(taken, extras, failures.onLimitReached(incoming.head, link));
    onResponse("redirect");
    recordClick(incoming, link, target);
    redirect.location = location;
    return redirect;
  }

  /** Whether no person, or nobody who is known to be one, follows the link. */
  const isAutomated = (incoming: IncomingRequest): boolean =>
    incoming.head.prefetch || readFacts(incoming).isAutomated();

  const isUnlocked = ({ head }: IncomingRequest, link: CachedLink): boolean =>
    unlockCookies.accept(link, toUtf8(head, head.cookie));

  async function respondToPassword(
    incoming: IncomingRequest,
    link: CachedLink,
  ): Promise<RedirectorResponse> {
    const { head, body } = incoming;
    const password = readPassword(toUtf8(head, head.contentType), toUtf8(body, body));
    const extras = guardsOf(link);
    if (password === undefined) {
      return extras !== undefined && isUnlocked(incoming, link)
        ? await settle(respondGuarded(incoming, link, extras))
        : passwordPage("wrong");
    }
    const result = await checkPassword(link, {
      address: addressOf(incoming),
      password,
      knownVisitor: isUnlocked(incoming, link),
    });
    if (result === "limited") return passwordPage("limited", { "retry-after": "60" });
    if (result === "busy") return passwordPage("busy", { "retry-after": "2" });
    if (result === "wrong") {
      failures.count(head, { reason: "wrong_password", link });
      return passwordPage("wrong");
    }
    const cookie = unlockCookies.issue(link, aliasPathOf(incoming));
    // Who enters a password need not press another button.
    if (extras !== undefined)
      return withCookie(await settle(respondGuarded(incoming, link, extras, true)), cookie);
    const target = targetOf(incoming, link);
    const location = locationOf(incoming, link, target);
    if (location === undefined) return tooLong();
    onResponse("password");
    recordClick(incoming, link, target);
    return withCookie({ location }, cookie);
  }

  /** Redirects to the destination and records a GET as a click. Counts the response as `kind`. */
  function respondRedirect(
    incoming: IncomingRequest,
    link: CachedLink,
    kind: ResponseKind,
  ): RedirectorResponse {
    const target = targetOf(incoming, link);
    const location = locationOf(incoming, link, target);
    if (location === undefined) return tooLong();
    onResponse(kind);
    if (incoming.head.method === "GET") recordClick(incoming, link, target);
    redirect.location = location;
    return redirect;
  }

  function tooLong(): RedirectorResponse {
    onResponse("uri_too_long");
    return pages.message("uri_too_long");
  }

  /** Where the link leads this request instead of to its destination; undefined for nearly all links. */
  function targetOf(incoming: IncomingRequest, link: CachedLink): Target | undefined {
    return link.extras === null ? undefined : extrasOf(link)?.targets.choose(readFacts(incoming));
  }

  function readFacts(incoming: IncomingRequest): VisitorFacts {
    if (incoming === factsRequest) return facts;
    const { head, now } = incoming;
    const { host } = resolveHost(head.host);
    facts = factsOf({ head, now, address: addressOf(incoming), host });
    factsRequest = incoming;
    return facts;
  }

  /** The destination, with the request's path and query when the link forwards them; undefined when that is too long. */
  function locationOf(
    incoming: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
  ): string | ByteSlice | undefined {
    const { head } = incoming;
    const destination = withPath(target?.url ?? link.destination, link, head);
    if (destination === undefined) return undefined;
    if (!link.forward_query || head.query.start === head.query.end) return destination;
    const url = toText(destination);
    return forwardQuery(url, head.bytes, head.query);
  }

  /** The destination, with what the path has beyond the alias when the link forwards it. */
  function withPath(
    destination: string | ByteSlice,
    link: CachedLink,
    head: RequestHead,
  ): string | ByteSlice | undefined {
    if (link.extras === null || extrasOf(link)?.extras.forward_path !== "append")
      return destination;
    const suffix = suffixOf(toUtf8(head, head.path));
    if (suffix === "") return destination;
    return forwardPath(toText(destination), suffix);
  }

  function recordClick(
    incoming: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
  ): void {
    const { head, now } = incoming;
    click.time = now;
    click.ids = link.ids;
    click.mode = link.mode;
    click.prefetch = head.prefetch;
    click.privacy = head.privacy;
    click.address = addressOf(incoming);
    click.host = resolveHost(head.host).host;
    click.bytes = head.bytes;
    click.userAgent = head.userAgent;
    click.referrer = head.referrer;
    click.language = head.language;
    click.query = head.query;
    click.target = target;
    click.linkUtm = link.extras === null ? undefined : extrasOf(link)?.utm;
    journal.append(click);
  }

  /** The client's address: without `X-Forwarded-For` the peer, whose address was normalized when it connected. */
  const addressOf = ({ head, peer }: IncomingRequest): string =>
    head.forwardedFor === "" ? peer : clientAddress(peer, head.forwardedFor);

  function resolveHost(host: string): HostResolution {
    if (host === lastHost) return lastResolution;
    lastHost = host;
    lastResolution = resolutions.get(host) ?? resolveNewHost(host);
    return lastResolution;
  }

  function resolveNewHost(host: string): HostResolution {
    const name = normalizeHost(host);
    const custom = CUSTOM_HOST.test(name) ? name : undefined;
    const resolution = { host: name, domain: hosts.has(name) ? DEFAULT_DOMAIN : custom };
    if (resolutions.size >= HOSTS_MAX) resolutions.clear();
    resolutions.set(host, resolution);
    return resolution;
  }

  return handle;
}

/** Of a link's records under several aliases, the one that says where it leads. */
const firstActive = (records: readonly LinkRecord[]): LinkRecord | undefined =>
  records.find(({ state }) => state === "active") ?? records[0];

const toText = (location: string | ByteSlice): string =>
  typeof location === "string" ? location : sliceToString(location);

const toUtf8 = ({ bytes }: Pick<RequestHead, "bytes">, { start, end }: ByteRange): string =>
  bytes.toString("utf8", start, end);

const toLatin1 = ({ bytes }: Pick<RequestHead, "bytes">, { start, end }: ByteRange): string =>
  decodeLatin1(bytes, start, end);

/** Whether the form of the confirmation was posted. */
function hasConfirmed({ head, body }: IncomingRequest): boolean {
  if (head.method !== "POST") return false;
  return readFormField(toUtf8(head, head.contentType), toUtf8(body, body), "confirm") === "yes";
}

/** Adds a cookie to a response. */
function withCookie(response: RedirectorResponse, cookie: string): PageResponse {
  if (!("location" in response)) {
    return { ...response, headers: { ...response.headers, "set-cookie": cookie } };
  }
  const { location } = response;
  const page = redirectResponse(toText(location));
  return { ...page, headers: { ...page.headers, "set-cookie": cookie } };
}

/** Waits for a response; one that is there is copied first, as another request may change it during the `await`. */
const settle = async (
  response: RedirectorResponse | Promise<RedirectorResponse>,
): Promise<RedirectorResponse> =>
  response instanceof Promise ? await response : copyResponse(response);

/** Copies a response, so that it stays unchanged across an `await`. */
function copyResponse(response: RedirectorResponse): RedirectorResponse {
  if (!("location" in response) || typeof response.location === "string") return { ...response };
  return { location: copySlice(response.location) };
}

/** Copies a request, so that it stays unchanged across an `await`. */
function copyRequest(incoming: IncomingRequest): IncomingRequest {
  const { head, body } = incoming;
  const { path, query, userAgent, referrer, language, cookie, contentType } = head;
  return {
    ...incoming,
    body: copySlice(body),
    head: {
      ...head,
      bytes: Buffer.from(head.bytes.subarray(0, head.length)),
      path: { ...path },
      query: { ...query },
      userAgent: { ...userAgent },
      referrer: { ...referrer },
      language: { ...language },
      cookie: { ...cookie },
      contentType: { ...contentType },
    },
  };
}
