/**
 * Responds when there is no link, or no longer one: with an error page, or as the custom domain is
 * configured.
 */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { DomainResponses } from "../cache/domain-settings.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import { type IncomingRequest, toLatin1 } from "../http/request.ts";
import type { RedirectorResponse } from "../http/response.ts";
import type { Decision } from "./decision.ts";
import type { FailureCounter } from "./failure-counter.ts";
import type { DomainFinder } from "./link-finder.ts";
import type { Redirects } from "./redirects.ts";

/** Where programs look for files of a site (RFC 8615). */
const WELL_KNOWN = "/.well-known/";

type MissingKind = "not_found" | "expired";

export type MissingDecision = Extract<Decision, { kind: MissingKind }>;

export class MissingLinks {
  readonly #redirects: Redirects;
  readonly #failures: FailureCounter;
  readonly #domains: DomainFinder;
  readonly #takedowns: Takedowns;

  constructor(
    redirects: Redirects,
    failures: FailureCounter,
    domains: DomainFinder,
    takedowns: Takedowns,
  ) {
    this.#redirects = redirects;
    this.#failures = failures;
    this.#domains = domains;
    this.#takedowns = takedowns;
  }

  /**
   * Responds to a request for a domain, whose settings are known, with this decision, and counts
   * the failure.
   */
  respond(
    incoming: IncomingRequest,
    { kind, failure }: MissingDecision,
    domain: string | undefined,
  ): RedirectorResponse {
    const { head } = incoming;
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
}
