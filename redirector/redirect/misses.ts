/**
 * Responds to requests without a cached link at the path: it may be at its alias, in the store, or
 * in the log.
 */
import { DEFAULT_DOMAIN, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { copyRequest, type IncomingRequest } from "../http/request.ts";
import { type RedirectorResponse, settle } from "../http/response.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import type { Lookups } from "../visitors/lookups.ts";
import { ABOUT } from "./beyond-alias.ts";
import type { Decider } from "./decider.ts";
import { type FinalDecision, type Miss, UNKNOWN_ALIAS } from "./decision.ts";
import type { ResolveHost } from "./hosts.ts";
import type { LinkFinder } from "./link-finder.ts";
import type { RequestReader } from "./request-reader.ts";
import type { Respond } from "./respond.ts";

type MissesDeps = {
  decideMiss: Decider["decideMiss"];
  finder: Pick<LinkFinder, "findStored" | "fetch">;
  respond: Respond;
  resolveHost: ResolveHost;
  /** Hosts whose short links have no about page (`/alias+`). */
  aboutOffHosts: ReadonlySet<string>;
  lookups: Lookups;
  isBehind: () => boolean;
  reader: Pick<RequestReader, "addressOf">;
  pages: ErrorPages;
  onResponse: (kind: "rate_limited" | "unavailable") => void;
};

export function createMisses(deps: MissesDeps) {
  const { decideMiss, finder, respond, resolveHost, lookups, reader, pages } = deps;
  const { isBehind, onResponse } = deps;

  function refuse(
    { head }: IncomingRequest,
    kind: "rate_limited" | "unavailable",
    retryAfter: string,
  ): RedirectorResponse {
    onResponse(kind);
    return pages.of(head).message(kind, { "retry-after": retryAfter });
  }

  /**
   * Nearly always the store has the link; otherwise the log may have it. A process that is behind
   * looks into neither: that costs many times as much as the redirects of cached links, which wait
   * for it.
   */
  function respondFromStore(
    incoming: IncomingRequest,
    miss: Miss,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    if (isBehind()) return refuse(incoming, "unavailable", "2");
    const record = finder.findStored(miss.domain, miss.alias);
    const decision = record === undefined ? miss : decideMiss(incoming, miss, incoming.now);
    return decision.kind === "miss"
      ? respondOnceFetched(copyRequest(incoming), miss)
      : respond(incoming, decision, record);
  }

  async function respondOnceFetched(
    incoming: IncomingRequest,
    miss: Miss,
  ): Promise<RedirectorResponse> {
    const release = lookups.acquire(reader.addressOf(incoming));
    if (release === "rate_limited") return refuse(incoming, "rate_limited", "10");
    if (release === "overloaded") return refuse(incoming, "unavailable", "2");
    let found: boolean | undefined;
    let record: LinkRecord | undefined;
    try {
      record = await finder.fetch(miss.domain, miss.alias);
      found = record !== undefined;
    } catch {
      return refuse(incoming, "unavailable", "2");
    } finally {
      release(found);
    }
    const decision = record === undefined ? UNKNOWN_ALIAS : decideFetched(incoming, miss);
    return await settle(respond(incoming, decision, record));
  }

  /** Decides for a link that was just fetched. */
  function decideFetched(incoming: IncomingRequest, miss: Miss): FinalDecision {
    const decision = decideMiss(incoming, miss, Date.now());
    if (decision.kind !== "miss") return decision;
    // If a link has two aliases, one was deleted.
    if (miss.domain !== DEFAULT_DOMAIN) return UNKNOWN_ALIAS;
    // The cache is too small for this one link.
    throw new Error("A fetched link is not in the cache.");
  }

  return {
    respond(
      incoming: IncomingRequest,
      miss: Miss,
    ): RedirectorResponse | Promise<RedirectorResponse> {
      // A link's about page shows fields that are not cached.
      if (miss.suffix === ABOUT)
        return deps.aboutOffHosts.has(resolveHost(incoming.head.host).host)
          ? respond(incoming, { kind: "not_found" })
          : respondFromStore(incoming, miss);
      const decision = decideMiss(incoming, miss, incoming.now);
      return decision.kind === "miss"
        ? respondFromStore(incoming, miss)
        : respond(incoming, decision);
    },
  };
}
