/** Responses to requests: pages and redirects. Each is counted, and a redirect is a click. */
import { newRequestClick } from "../../shared/contracts/click-record.ts";
import { readUtmQuery } from "../../shared/contracts/query-string.ts";
import {
  DEFAULT_REDIRECT_STATUS,
  type RedirectStatus,
} from "../../shared/contracts/redirect-status.ts";
import type { Target } from "../../shared/decision/targets.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import type { IncomingRequest, RequestHead } from "../http/request.ts";
import type { LinkRedirect, PageResponse, RedirectorResponse } from "../http/response.ts";
import type { ClickLog } from "../journal/journal.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import type { Decision } from "./decision.ts";
import type { DomainFinder } from "./link-finder.ts";
import type { Location, RequestReader } from "./request-reader.ts";

/** The label of a response: a decision, or why it was not made or carried out. */
export type ResponseKind =
  | Exclude<Decision["kind"], "guarded">
  | "confirm"
  | "busy"
  | "domain_url"
  | "app_file"
  | "unavailable"
  | "rate_limited"
  | "uri_too_long";

/** The label of a redirect: of a link without a password, or after a correct one. */
type RedirectKind = "redirect" | "password";

/** The kinds of responses whose page has the same name. */
type MessageKind =
  | "bad_request"
  | "busy"
  | "expired"
  | "limit_reached"
  | "method_not_allowed"
  | "not_found"
  | "rate_limited"
  | "taken_down"
  | "unavailable"
  | "uri_too_long";

export class Redirects {
  readonly pages: ErrorPages;
  readonly #journal: ClickLog;
  readonly #reader: RequestReader;
  readonly #domains: DomainFinder;
  readonly #counts: Record<string, number> = { redirect: 0 };
  /** Reused by all clicks: the journal encodes it at once. */
  readonly #click = newRequestClick();
  /** Reused by all redirects, so that they allocate nothing: written or copied before the next. */
  readonly #redirect: LinkRedirect = { location: "", status: DEFAULT_REDIRECT_STATUS };

  constructor(journal: ClickLog, reader: RequestReader, domains: DomainFinder, pages: ErrorPages) {
    this.#journal = journal;
    this.#reader = reader;
    this.#domains = domains;
    this.pages = pages;
  }

  /** Responses by their kind since the start. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  count(kind: ResponseKind): void {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
  }

  /** Responds with an error page; `headers` are added to those of every page. */
  message(head: RequestHead, kind: MessageKind, headers?: Record<string, string>): PageResponse {
    this.count(kind);
    return this.pages.of(head).message(kind, headers);
  }

  /** Redirects to the destination of a request; 414 when that is too long. */
  respond(incoming: IncomingRequest, link: CachedLink, kind: RedirectKind): RedirectorResponse {
    const target = this.#reader.targetOf(incoming, link);
    const location = this.#reader.locationOf(incoming, link, target);
    return location === undefined
      ? this.message(incoming.head, "uri_too_long")
      : this.redirectTo(location, incoming, link, target, kind);
  }

  /** Redirects to a location, and records the click unless the request is a HEAD. */
  redirectTo(
    location: Location,
    incoming: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
    kind: RedirectKind = "redirect",
  ): RedirectorResponse {
    this.count(kind);
    if (incoming.head.method !== "HEAD") this.#recordClick(incoming, link, target);
    this.#redirect.location = location;
    this.#redirect.status = this.#statusOf(incoming.head, link);
    return this.#redirect;
  }

  /** The status of a redirect: that of the link, else of its domain. */
  #statusOf(head: RequestHead, link: CachedLink): RedirectStatus {
    // After 307 and 308, a browser would post the form, and its password, to the destination.
    if (head.method === "POST") return DEFAULT_REDIRECT_STATUS;
    const own = this.#reader.settingsOf(link)?.settings.redirect_status;
    if (own !== undefined) return own;
    const domain = this.#reader.domainOf(head);
    return domain === undefined ? DEFAULT_REDIRECT_STATUS : this.#domains.redirectStatusOf(domain);
  }

  #recordClick(incoming: IncomingRequest, link: CachedLink, target: Target | undefined): void {
    const { head, now } = incoming;
    const click = this.#click;
    click.time = now;
    click.ids = link.ids;
    click.mode = link.mode;
    click.prefetch = head.prefetch;
    click.embedded = head.embedded;
    click.scanned = head.scanned;
    click.privacy = head.privacy;
    click.address = this.#reader.addressOf(incoming);
    click.host = this.#reader.hostOf(head);
    click.bytes = head.bytes;
    click.userAgent = head.userAgent;
    click.referrer = head.referrer;
    click.language = head.language;
    click.query = head.query;
    click.target = target;
    click.destinationUtm = this.#utmOf(link, target);
    this.#journal.append(click);
  }

  /** The UTM parameters of the destination that a request got. */
  #utmOf(link: CachedLink, target: Target | undefined): Buffer | undefined {
    if (link.settings === null) return undefined;
    if (target === undefined) return this.#reader.settingsOf(link)?.utm;
    const utm = readUtmQuery(target.url);
    return utm === undefined ? undefined : Buffer.from(utm);
  }
}
