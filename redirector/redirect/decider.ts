/** Decides requests using the links in memory. */
import type { IncomingRequest } from "../http/request.ts";
import type { ClickLimits } from "../limits/click-limits.ts";
import { decide, decideMiss, type Decision, type Miss } from "./decision.ts";
import type { ResolveHost } from "./hosts.ts";
import type { LinkFinder } from "./link-finder.ts";
import type { RequestReader } from "./request-reader.ts";

type DeciderDeps = {
  resolveHost: ResolveHost;
  finder: Pick<LinkFinder, "findByPath" | "findCached">;
  reader: Pick<RequestReader, "begin" | "settingsOf">;
  isExhausted: ClickLimits["isExhausted"];
};

export type Decider = {
  /** Decides with the cached link at the bytes of the path; a `miss` when there is none. */
  decide(incoming: IncomingRequest): Decision;
  /**
   * Decides with the cached link at the alias of a miss; a `miss` when there is none either. `now`
   * is in Unix milliseconds.
   */
  decideMiss(incoming: IncomingRequest, miss: Miss, now: number): Decision;
};

export function createDecider({ resolveHost, finder, reader, isExhausted }: DeciderDeps): Decider {
  const { begin, settingsOf } = reader;
  const { findByPath, findCached } = finder;
  return {
    decide(incoming) {
      const { head, now } = incoming;
      const { domain } = resolveHost(head.host);
      const request = begin(incoming, domain);
      const link = domain === undefined ? undefined : findByPath(domain, head);
      return decide(request, link, now, settingsOf, isExhausted);
    },
    decideMiss(incoming, miss, now) {
      const request = begin(incoming, miss.domain);
      const link = findCached(miss.domain, miss.alias);
      return decideMiss(request, miss, link, now, settingsOf, isExhausted);
    },
  };
}
