/** Handles requests: decides, records the click and makes the response. Independent of sockets. */
import { type ByteRange, type ByteSlice, copySlice, sliceToString } from "../shared/bytes.ts";
import type { ClientAddress } from "../shared/client-address.ts";
import { newRawClick } from "../shared/contracts/click-segment.ts";
import { DEFAULT_DOMAIN } from "../shared/contracts/link-record.ts";
import { normalizeHost } from "../shared/hosts.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import { type CachedLink, copyLink } from "./cache/record.ts";
import { decide, type Decision, type ShortRequest } from "./decision.ts";
import { type ErrorPages, FAVICON, HEALTHY, redirectResponse, ROBOTS } from "./error-pages.ts";
import { forwardQuery } from "./forward-query.ts";
import { decodeLatin1 } from "./http/bytes.ts";
import { normalizePath } from "./http/path.ts";
import type { RequestHead } from "./http/request-head.ts";
import type { RedirectorResponse } from "./http/response-writer.ts";
import type { Journal } from "./journal/journal.ts";
import type { LinkSubscriber } from "./link-subscriber.ts";
import type { Lookups } from "./lookups.ts";
import { type PasswordCheck, readPassword } from "./password.ts";
import type { UnlockCookies } from "./unlock-cookie.ts";

/** What a response is counted as: a decision, or why it could not be made or carried out. */
type ResponseKind = Decision["kind"] | "unavailable" | "rate_limited" | "uri_too_long";

export type HandlerDeps = {
  cache: Pick<LinkCache, "get">;
  feed: Pick<LinkSubscriber, "fetch">;
  journal: Pick<Journal, "append">;
  clientAddress: ClientAddress;
  checkPassword: PasswordCheck;
  unlockCookies: UnlockCookies;
  lookups: Lookups;
  pages: ErrorPages;
  /** Hosts of the default short domain. */
  hosts: ReadonlySet<string>;
  rootRedirectUrl: string | undefined;
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

/** A host as clicks record it, and the domain it resolves to; undefined when nothing is served there. */
type HostResolution = { host: string; domain: string | undefined };

/** The most hosts whose resolution is cached. */
const HOSTS_MAX = 10_000;

const CUSTOM_HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/** Creates the handler. It responds synchronously for cached links; only misses and passwords return a promise. */
export function createHandler(deps: HandlerDeps) {
  const {
    cache,
    feed,
    journal,
    clientAddress,
    checkPassword,
    unlockCookies,
    lookups,
    pages,
    hosts,
    onResponse,
  } = deps;
  const resolutions = new Map<string, HostResolution>();
  // Nearly always the next request has the same host.
  let lastHost = "";
  let lastResolution: HostResolution = { host: "", domain: undefined };
  // Reused by all requests, so that a redirect allocates nothing: each is read before the next request is handled.
  let current: IncomingRequest;
  const shortRequest: ShortRequest = {
    method: "",
    domain: "",
    // Decoded only on a miss: the cache is looked up by bytes.
    get path() {
      return normalizePath(toLatin1(current.head, current.head.path));
    },
  };
  const click = newRawClick();
  const redirect: { location: string | ByteSlice } = { location: "" };
  const root =
    deps.rootRedirectUrl === undefined
      ? pages.message("home")
      : redirectResponse(new URL(deps.rootRedirectUrl).href);

  function handle(incoming: IncomingRequest): RedirectorResponse | Promise<RedirectorResponse> {
    const decision = decideOn(incoming, incoming.now);
    return decision.kind === "miss"
      ? respondToMiss(copyRequest(incoming), decision)
      : respond(incoming, decision);
  }

  function decideOn(incoming: IncomingRequest, now: number): Decision {
    const { head } = incoming;
    const { domain } = resolveHost(head.host);
    current = incoming;
    shortRequest.method = head.method;
    shortRequest.domain = domain;
    const link = domain === undefined ? undefined : findLink(domain, head);
    return decide(shortRequest, link, now);
  }

  /** Finds the cached link of a path; of the normalized path only when there is none at its bytes. */
  function findLink(domain: string, head: RequestHead): CachedLink | null | undefined {
    const link = cache.get(domain, head.bytes, head.path);
    if (link !== undefined) return link;
    const { path } = shortRequest;
    if (path === undefined || path.length === head.path.end - head.path.start) return undefined;
    const bytes = Buffer.from(path, "latin1");
    return cache.get(domain, bytes, { start: 0, end: bytes.length });
  }

  async function respondToMiss(
    incoming: IncomingRequest,
    { domain, alias }: Extract<Decision, { kind: "miss" }>,
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
    try {
      found = await feed.fetch(domain, alias);
    } catch {
      onResponse("unavailable");
      return pages.message("unavailable", { "retry-after": "2" });
    } finally {
      release(found);
    }
    const decision: Decision = found ? decideOn(incoming, Date.now()) : { kind: "not_found" };
    // The cache is too small for this one link.
    if (decision.kind === "miss") throw new Error("A fetched link is not in the cache.");
    const response = respond(incoming, decision);
    return response instanceof Promise ? await response : copyResponse(response);
  }

  function respond(
    incoming: IncomingRequest,
    decision: Exclude<Decision, { kind: "miss" }>,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    if (decision.kind === "redirect")
      return respondRedirect(incoming, decision.link, decision.kind);
    onResponse(decision.kind);
    switch (decision.kind) {
      case "password":
        return incoming.head.method === "POST"
          ? respondToPassword(copyRequest(incoming), copyLink(decision.link))
          : respondToUnlocked(incoming, decision.link);
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

  /** Redirects visitors with a valid unlock cookie; others get the password form. */
  function respondToUnlocked(incoming: IncomingRequest, link: CachedLink): RedirectorResponse {
    return isUnlocked(incoming, link)
      ? respondRedirect(incoming, link)
      : pages.password("required");
  }

  const isUnlocked = ({ head }: IncomingRequest, link: CachedLink): boolean =>
    unlockCookies.accept(link, toUtf8(head, head.cookie));

  async function respondToPassword(
    incoming: IncomingRequest,
    link: CachedLink,
  ): Promise<RedirectorResponse> {
    const { head, body } = incoming;
    const password = readPassword(toUtf8(head, head.contentType), toUtf8(body, body));
    if (password === undefined) return pages.password("wrong");
    const result = await checkPassword(link, {
      address: addressOf(incoming),
      password,
      knownVisitor: isUnlocked(incoming, link),
    });
    if (result === "limited") return pages.password("limited", { "retry-after": "60" });
    if (result === "busy") return pages.password("busy", { "retry-after": "2" });
    if (result === "wrong") return pages.password("wrong");
    const location = locationOf(incoming, link);
    if (location === undefined) return pages.message("uri_too_long");
    recordClick(incoming, link);
    const response = redirectResponse(
      typeof location === "string" ? location : sliceToString(location),
    );
    const cookie = unlockCookies.issue(link, toLatin1(head, head.path));
    return { ...response, headers: { ...response.headers, "set-cookie": cookie } };
  }

  /** Redirects to the destination and records a GET as a click. Counts the response as `kind`, unless undefined. */
  function respondRedirect(
    incoming: IncomingRequest,
    link: CachedLink,
    kind?: ResponseKind,
  ): RedirectorResponse {
    const location = locationOf(incoming, link);
    if (location === undefined) {
      onResponse("uri_too_long");
      return pages.message("uri_too_long");
    }
    if (kind !== undefined) onResponse(kind);
    if (incoming.head.method === "GET") recordClick(incoming, link);
    redirect.location = location;
    return redirect;
  }

  /** The destination, with the request's query when the link forwards it; undefined when that is too long. */
  function locationOf(incoming: IncomingRequest, link: CachedLink): string | ByteSlice | undefined {
    const { destination } = link;
    const { head } = incoming;
    if (!link.forward_query || head.query.start === head.query.end) return destination;
    return forwardQuery(sliceToString(destination), head.bytes, head.query);
  }

  function recordClick(incoming: IncomingRequest, link: CachedLink): void {
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

const toUtf8 = ({ bytes }: Pick<RequestHead, "bytes">, { start, end }: ByteRange): string =>
  bytes.toString("utf8", start, end);

const toLatin1 = ({ bytes }: Pick<RequestHead, "bytes">, { start, end }: ByteRange): string =>
  decodeLatin1(bytes, start, end);

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
