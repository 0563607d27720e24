/**
 * Responds when there is no link, or no longer one: with an error page, or as the custom domain is
 * configured.
 */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { DomainResponses } from "../cache/domain-settings.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import type { RequestHead } from "../http/request-head.ts";
import { copyRequest, type Handler, type IncomingRequest, toLatin1 } from "../http/request.ts";
import { type RedirectorResponse, settle } from "../http/response.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import type { Lookups } from "../visitors/lookups.ts";
import type { Decision } from "./decision.ts";
import type { DomainReader } from "./domain-reader.ts";
import type { FailureCounter } from "./failure-counter.ts";
import type { ResolveHost } from "./hosts.ts";
import type { RequestReader } from "./request-reader.ts";

/** Where programs look for files of a site (RFC 8615). */
const WELL_KNOWN = "/.well-known/";

type MissingKind = "not_found" | "expired";

type MissingDecision = Extract<Decision, { kind: MissingKind }>;

type MissingDeps = {
  /** Handles a request, once the settings of its domain are known. */
  handle: Handler;
  resolveHost: ResolveHost;
  domains: DomainReader;
  takedowns: Pick<Takedowns, "covers">;
  lookups: Lookups;
  reader: Pick<RequestReader, "addressOf">;
  failures: Pick<FailureCounter, "count">;
  pages: ErrorPages;
  onResponse: (kind: MissingKind | "taken_down" | "domain_url" | "app_file") => void;
};

export function createMissingLinks(deps: MissingDeps) {
  const { handle, resolveHost, domains, takedowns, lookups, reader, failures, pages } = deps;
  const { onResponse } = deps;

  function respondPage(head: RequestHead, kind: MissingKind | "taken_down"): RedirectorResponse {
    onResponse(kind);
    return pages.of(head).message(kind);
  }

  /** Responds with a file of the domain, or redirects to the URL that it has for such requests. */
  function respondAsDomain(
    { head }: IncomingRequest,
    responses: DomainResponses,
    kind: MissingKind,
  ): RedirectorResponse {
    const path = toLatin1(head, head.path);
    const file = responses.files.get(path);
    const fallback = path === "/" ? (responses.root ?? responses.not_found) : responses[kind];
    // Programs that request files there follow no redirect, or should not.
    const redirect = path.startsWith(WELL_KNOWN) ? undefined : fallback;
    if (file === undefined && redirect === undefined) return respondPage(head, kind);
    // A domain's responses are taken down with its account and with the hosts that it redirects to,
    // as links are.
    const facts = { account_id: responses.accountId, destination: redirect?.url ?? "" };
    if (takedowns.covers(facts)) return respondPage(head, "taken_down");
    onResponse(file === undefined ? "domain_url" : "app_file");
    return file ?? redirect?.response ?? respondPage(head, kind);
  }

  /**
   * Reads the settings of a domain, then handles the request again; without settings if they cannot
   * be read.
   */
  async function respondOnceKnown(
    incoming: IncomingRequest,
    domain: string,
    kind: MissingKind,
  ): Promise<RedirectorResponse> {
    const { head } = incoming;
    const release = lookups.acquire(reader.addressOf(incoming));
    if (typeof release === "string") return respondPage(head, kind);
    let found: boolean | undefined;
    try {
      found = await domains.fetch(domain);
    } catch {
      return respondPage(head, kind);
    } finally {
      release(found);
    }
    return await settle(handle(incoming));
  }

  return {
    /** Responds to a request with this decision, and counts the failure. */
    respond(
      incoming: IncomingRequest,
      { kind, failure }: MissingDecision,
    ): RedirectorResponse | Promise<RedirectorResponse> {
      const { head } = incoming;
      const { domain } = resolveHost(head.host);
      if (domain === undefined || domain === DEFAULT_DOMAIN) {
        failures.count(head, failure);
        return respondPage(head, kind);
      }
      const responses = domains.isKnown(domain) ? domains.get(domain) : undefined;
      if (responses === undefined) return respondOnceKnown(copyRequest(incoming), domain, kind);
      failures.count(head, failure);
      return responses === null || (head.method !== "GET" && head.method !== "HEAD")
        ? respondPage(head, kind)
        : respondAsDomain(incoming, responses, kind);
    },
  };
}
