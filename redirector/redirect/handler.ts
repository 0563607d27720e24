/**
 * Handles requests, independent of sockets. Each is a list of steps: resolve the host, find the
 * link, decide, guard (password, confirmation, limit), record the click, respond. It responds at
 * once for links in memory and in the store; only unknown aliases, passwords and new leases of
 * limits return a promise.
 */
import type { ClientAddress } from "../../shared/client-address.ts";
import type { DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import type { FailureReporter } from "../failures/reporter.ts";
import type { Handler } from "../http/request.ts";
import type { Journal } from "../journal/journal.ts";
import type { ClickLimits } from "../limits/click-limits.ts";
import type { LinkReads } from "../links/link-reads.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import type { PasswordCheck } from "../passwords/password.ts";
import type { UnlockCookies } from "../passwords/unlock-cookie.ts";
import type { Lookups } from "../visitors/lookups.ts";
import type { Locate } from "../visitors/request-facts.ts";
import { createClickRecorder } from "./click-recorder.ts";
import { createDecider } from "./decider.ts";
import type { Decision } from "./decision.ts";
import { createDestinations } from "./destination.ts";
import { createDomainReader } from "./domain-reader.ts";
import { createFailureCounter } from "./failure-counter.ts";
import { createGuards } from "./guards.ts";
import { createHostResolver } from "./hosts.ts";
import { createLinkFinder } from "./link-finder.ts";
import { createLinkPages } from "./link-pages.ts";
import { createMisses } from "./misses.ts";
import { createMissingLinks } from "./missing-links.ts";
import { createPasswords } from "./passwords.ts";
import { createRedirects } from "./redirects.ts";
import { createRequestReader } from "./request-reader.ts";
import { createRespond } from "./respond.ts";

/**
 * The label under which a response is counted: a decision, or the reason why none could be made or
 * carried out.
 */
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
  cache: Pick<LinkCache, "get" | "find">;
  links: Pick<LinkReads, "find" | "fetch">;
  domains: Pick<DomainSettingsCache, "get" | "apply">;
  takedowns: Pick<Takedowns, "covers">;
  journal: Pick<Journal, "append">;
  clientAddress: ClientAddress;
  checkPassword: PasswordCheck;
  unlockCookies: UnlockCookies;
  lookups: Lookups;
  /** Whether the process is behind: then links that are not in memory get 503. */
  isBehind: () => boolean;
  limits: Pick<ClickLimits, "take" | "look" | "isExhausted">;
  failures: Pick<FailureReporter, "countLink" | "countUnknownAlias">;
  pages: ErrorPages;
  /** Hosts of the default short domain. */
  hosts: ReadonlySet<string>;
  rootRedirectUrl: string | undefined;
  /** The scheme of short URLs. */
  scheme: "http:" | "https:";
  /** Hosts whose short links have no about page (`/alias+`). */
  aboutOffHosts: ReadonlySet<string>;
  locate: Locate;
  /** Called for every response. */
  onResponse: (kind: ResponseKind) => void;
};

/** Creates the handler. */
export function createHandler(deps: HandlerDeps): Handler {
  const resolveHost = createHostResolver(deps.hosts);
  const reader = createRequestReader({ ...deps, ownHosts: deps.hosts, resolveHost });
  const domains = createDomainReader(deps);
  const finder = createLinkFinder({ ...deps, domains });
  const failures = createFailureCounter({
    failures: deps.failures,
    domains: deps.domains,
    domainOf: (host) => resolveHost(host).domain,
  });
  const { decide, decideMiss } = createDecider({
    resolveHost,
    finder,
    reader,
    isExhausted: deps.limits.isExhausted,
  });
  const destinations = createDestinations(reader);
  const recordClick = createClickRecorder({ journal: deps.journal, reader, resolveHost });
  const redirects = createRedirects({ ...deps, destinations, recordClick });
  const guards = createGuards({ ...deps, destinations, redirects, reader, failures });
  const respond = createRespond({
    ...deps,
    redirects,
    guards,
    respondToPassword: createPasswords({ ...deps, guards, redirects, reader, failures }),
    missingLinks: createMissingLinks({ ...deps, handle, resolveHost, domains, reader, failures }),
    linkPages: createLinkPages({ ...deps, destinations, reader }),
    failures,
  });
  const misses = createMisses({
    ...deps,
    decideMiss,
    finder,
    respond,
    resolveHost,
    reader,
  });

  function handle(incoming: Parameters<Handler>[0]): ReturnType<Handler> {
    const decision = decide(incoming);
    return decision.kind === "miss"
      ? misses.respond(incoming, decision)
      : respond(incoming, decision);
  }

  return handle;
}
