/**
 * Responds to requests for links with a password, a click limit or a confirmation: redirects when
 * all of them allow it. A page with a form carries the referrer of the visit that it interrupts,
 * because the browser names this page, or none, when it posts the form. A forged one
 * gains nothing: the visit could have sent it as a header.
 */
import { clickTextEnd, decodeText } from "../../shared/contracts/click-text.ts";
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { type CachedLink, copyLink } from "../../shared/links-store/record.ts";
import { shortenReferrer } from "../../shared/visitors/referrer.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import {
  copyRequest,
  type IncomingRequest,
  readFormField,
  toUtf8,
  withReferrer,
} from "../http/request.ts";
import {
  copyResponse,
  type PageResponse,
  type RedirectorResponse,
  redirectResponse,
  settle,
} from "../http/response.ts";
import type { ClickSource } from "../limits/click-limits.ts";
import type { ClickOutcome } from "../limits/holdings.ts";
import type { LanguagePages } from "../pages/error-pages.ts";
import { type PasswordState, REFERRER_FIELD } from "../pages/link-forms.ts";
import type { PasswordCheck } from "../passwords/password.ts";
import type { UnlockCookies } from "../passwords/unlock-cookie.ts";
import { aliasPathOf } from "./beyond-alias.ts";
import { isGuarded } from "./decision.ts";
import type { FailureCounter } from "./failure-counter.ts";
import type { Redirects } from "./redirects.ts";
import { type RequestReader, toText } from "./request-reader.ts";

type MaybeLater = RedirectorResponse | Promise<RedirectorResponse>;

/** The outcome for a request that gets no click of a limit. */
type Refusal = Exclude<ClickOutcome, "taken">;

/** A page that interrupts a visit: it has the visit's referrer. */
type InterruptingPage = (pages: LanguagePages, referrer: string) => RedirectorResponse;

/** The limit and the confirmation of a link. */
export class Guards {
  readonly reader: RequestReader;
  readonly redirects: Redirects;
  readonly failures: FailureCounter;
  readonly #limits: ClickSource;

  constructor(
    reader: RequestReader,
    redirects: Redirects,
    failures: FailureCounter,
    limits: ClickSource,
  ) {
    this.reader = reader;
    this.redirects = redirects;
    this.failures = failures;
    this.#limits = limits;
  }

  /** Redirects if the visitor has confirmed, where required, and the limit leaves a click. */
  respond(
    incoming: IncomingRequest,
    link: CachedLink,
    settings: RedirectSettings,
    confirmed = hasConfirmed(incoming),
  ): MaybeLater {
    if (!confirmed && this.#mustConfirm(incoming, settings))
      return this.unlessExhausted(incoming, link, settings, this.#confirmationPage);
    const target = this.reader.targetOf(incoming, link);
    const location = this.reader.locationOf(incoming, link, target);
    // No click is consumed for a response that cannot be sent.
    if (location === undefined) return this.redirects.message(incoming.head, "uri_too_long");
    const taken = settings.limit === undefined ? "taken" : this.#limits.take(settings.limit);
    if (taken === "taken") return this.redirects.redirectTo(location, incoming, link, target);
    if (!(taken instanceof Promise)) return this.#refuseClick(taken, incoming, link, settings);
    const [request, copy, url] = [copyRequest(incoming), copyLink(link), toText(location)];
    return taken.then((outcome) =>
      copyResponse(
        outcome === "taken"
          ? this.redirects.redirectTo(url, request, copy, target)
          : this.#refuseClick(outcome, request, copy, settings),
      ),
    );
  }

  /** Responds with a page that consumes no click, unless the limit is reached. */
  unlessExhausted(
    incoming: IncomingRequest,
    link: CachedLink,
    settings: RedirectSettings,
    page: InterruptingPage,
  ): MaybeLater {
    const pages = this.redirects.pages.of(incoming.head);
    const referrer = referrerOf(incoming);
    const exhausted = settings.limit !== undefined && this.#limits.look(settings.limit);
    if (exhausted === true) return this.#refuseClick("spent", incoming, link, settings);
    if (exhausted === false) return page(pages, referrer);
    const [request, copy] = [copyRequest(incoming), copyLink(link)];
    return exhausted.then((isExhausted) =>
      isExhausted ? this.#refuseClick("spent", request, copy, settings) : page(pages, referrer),
    );
  }

  /**
   * Whether a request gets the page with a button: programs follow links, but do not press buttons.
   */
  #mustConfirm(incoming: IncomingRequest, { confirm, limit }: RedirectSettings): boolean {
    // HEAD consumes no click, so its response must not contain the destination.
    if (confirm === true || incoming.head.method !== "GET") return true;
    return limit?.humans === true && this.reader.isAutomated(incoming);
  }

  readonly #confirmationPage: InterruptingPage = (pages, referrer) => {
    this.redirects.count("confirm");
    return pages.confirmation(referrer);
  };

  /** Responds to a request that got no click of the limit. */
  #refuseClick(
    taken: Refusal,
    { head }: IncomingRequest,
    link: CachedLink,
    { expired_url }: RedirectSettings,
  ): RedirectorResponse {
    if (taken === "busy") return this.redirects.message(head, "busy", { "retry-after": "2" });
    this.failures.count(head, { reason: "limit_reached", link });
    if (expired_url === undefined) return this.redirects.message(head, "limit_reached");
    this.redirects.count("limit_reached");
    return redirectResponse(expired_url);
  }
}

/** The password of a link, before its other guards. */
export class PasswordGuard {
  readonly #guards: Guards;
  readonly #reader: RequestReader;
  readonly #redirects: Redirects;
  readonly #passwords: PasswordCheck;
  readonly #cookies: UnlockCookies;

  constructor(guards: Guards, passwords: PasswordCheck, cookies: UnlockCookies) {
    this.#guards = guards;
    this.#reader = guards.reader;
    this.#redirects = guards.redirects;
    this.#passwords = passwords;
    this.#cookies = cookies;
  }

  /**
   * Responds with the form or, after the correct password, with the redirect; synchronously unless
   * the request posts a password, or a limit must be read.
   */
  respond(incoming: IncomingRequest, link: CachedLink): MaybeLater {
    return incoming.head.method === "POST"
      ? this.#respondToForm(copyRequest(incoming), copyLink(link))
      : this.#respondToVisit(incoming, link);
  }

  /** Redirects visitors with a valid unlock cookie; others get the form. */
  #respondToVisit(incoming: IncomingRequest, link: CachedLink): MaybeLater {
    const settings = this.#guardsOf(link);
    if (this.#isUnlocked(incoming, link))
      return settings === undefined
        ? this.#redirects.respond(incoming, link, "password")
        : this.#guards.respond(incoming, link, settings);
    return settings === undefined
      ? this.#emptyForm(this.#redirects.pages.of(incoming.head), referrerOf(incoming))
      : this.#guards.unlessExhausted(incoming, link, settings, this.#emptyForm);
  }

  /** Responds to a posted form: the password's, or a confirmation after the link is unlocked. */
  async #respondToForm(incoming: IncomingRequest, link: CachedLink): Promise<RedirectorResponse> {
    const password = readFormField(incoming, "password");
    const settings = this.#guardsOf(link);
    if (password === undefined)
      return settings !== undefined && this.#isUnlocked(incoming, link)
        ? await settle(this.#guards.respond(incoming, link, settings))
        : this.#formAgain(incoming, "wrong");
    const result = await this.#passwords.check(link, {
      address: this.#reader.addressOf(incoming),
      password,
      knownVisitor: this.#isUnlocked(incoming, link),
    });
    if (result === "limited") return this.#formAgain(incoming, "limited", { "retry-after": "60" });
    if (result === "busy") return this.#formAgain(incoming, "busy", { "retry-after": "2" });
    if (result === "wrong") {
      this.#guards.failures.count(incoming.head, { reason: "wrong_password", link });
      return this.#formAgain(incoming, "wrong");
    }
    const path = aliasPathOf(incoming.head, this.#reader.forwardsPath(link));
    const cookie = this.#cookies.issue(link, path);
    if (settings === undefined) {
      const response = this.#redirects.respond(incoming, link, "password");
      return "location" in response ? withCookie(response, cookie) : response;
    }
    // A visitor who enters the password does not have to confirm as well.
    return withCookie(await settle(this.#guards.respond(incoming, link, settings, true)), cookie);
  }

  /** The settings of a link with a limit or a confirmation; undefined for others. */
  #guardsOf(link: CachedLink): RedirectSettings | undefined {
    const settings = this.#reader.settingsOf(link)?.settings;
    return isGuarded(settings) ? settings : undefined;
  }

  #isUnlocked({ head }: IncomingRequest, link: CachedLink): boolean {
    return this.#cookies.accept(link, toUtf8(head, head.cookie));
  }

  readonly #emptyForm: InterruptingPage = (pages, referrer) => {
    this.#redirects.count("password");
    return pages.password("required", {}, referrer);
  };

  #formAgain(
    incoming: IncomingRequest,
    state: PasswordState,
    headers: Record<string, string> = {},
  ): RedirectorResponse {
    this.#redirects.count("password");
    return this.#redirects.pages.of(incoming.head).password(state, headers, referrerOf(incoming));
  }
}

const hasConfirmed = (incoming: IncomingRequest): boolean =>
  incoming.head.method === "POST" && readFormField(incoming, "confirm") === "yes";

function withCookie(response: RedirectorResponse, cookie: string): PageResponse {
  const page = "location" in response ? redirectResponse(toText(response.location)) : response;
  return { ...page, headers: { ...page.headers, "set-cookie": cookie } };
}

/** The visit's referrer for a page's form, as far as its click keeps it; "" for none. */
function referrerOf({ head }: IncomingRequest): string {
  const { bytes, referrer } = head;
  const end = clickTextEnd("referrer", bytes, referrer);
  return shortenReferrer(decodeText(decodeLatin1(bytes, referrer.start, end)));
}

/** The visit of a request: of a posted form, with the referrer that the form carries. */
export function toVisit(incoming: IncomingRequest): IncomingRequest {
  if (incoming.head.method !== "POST") return incoming;
  const posted = readFormField(incoming, REFERRER_FIELD);
  return posted === undefined ? incoming : withReferrer(incoming, shortenReferrer(posted));
}
