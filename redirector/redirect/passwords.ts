/**
 * Responds to requests for links with a password: with the form or, after the correct password,
 * with the redirect.
 */
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { type CachedLink, copyLink } from "../../shared/links-store/record.ts";
import { copyRequest, type IncomingRequest, readFormField, toUtf8 } from "../http/request.ts";
import {
  type PageResponse,
  type RedirectorResponse,
  redirectResponse,
  settle,
} from "../http/response.ts";
import type { ErrorPages, LanguagePages } from "../pages/error-pages.ts";
import type { PasswordState } from "../pages/link-forms.ts";
import type { PasswordCheck } from "../passwords/password.ts";
import type { UnlockCookies } from "../passwords/unlock-cookie.ts";
import { aliasPathOf } from "./beyond-alias.ts";
import { isGuarded } from "./decision.ts";
import { toText } from "./destination.ts";
import type { FailureCounter } from "./failure-counter.ts";
import type { Guards } from "./guards.ts";
import type { Redirects } from "./redirects.ts";
import type { RequestReader } from "./request-reader.ts";
import { referrerOf } from "./visit-referrer.ts";

type PasswordDeps = {
  checkPassword: PasswordCheck;
  unlockCookies: UnlockCookies;
  guards: Guards;
  redirects: Pick<Redirects, "respond">;
  reader: Pick<RequestReader, "addressOf" | "settingsOf">;
  failures: Pick<FailureCounter, "count">;
  pages: ErrorPages;
  onResponse: (kind: "password") => void;
};

/**
 * Responds to a request for a link with a password; synchronously unless the request posts one, or
 * a limit must be read.
 */
export type RespondToPassword = (
  incoming: IncomingRequest,
  link: CachedLink,
) => RedirectorResponse | Promise<RedirectorResponse>;

export function createPasswords(deps: PasswordDeps): RespondToPassword {
  const { checkPassword, unlockCookies, guards, redirects, reader, failures, pages } = deps;

  function form(languagePages: LanguagePages, ...args: FormArguments): RedirectorResponse {
    deps.onResponse("password");
    return languagePages.password(...args);
  }

  const emptyForm = (languagePages: LanguagePages, referrer: string) =>
    form(languagePages, "required", {}, referrer);

  /** The settings of a link with a limit or a confirmation; undefined for others. */
  function guardsOf(link: CachedLink): RedirectSettings | undefined {
    const settings = reader.settingsOf(link)?.settings;
    return isGuarded(settings) ? settings : undefined;
  }

  const isUnlocked = ({ head }: IncomingRequest, link: CachedLink): boolean =>
    unlockCookies.accept(link, toUtf8(head, head.cookie));

  /** Redirects visitors with a valid unlock cookie; others get the form. */
  const respondToVisit: RespondToPassword = (incoming, link) => {
    const settings = guardsOf(link);
    if (isUnlocked(incoming, link))
      return settings === undefined
        ? redirects.respond(incoming, link, "password")
        : guards.respond(incoming, link, settings);
    return settings === undefined
      ? emptyForm(pages.of(incoming.head), referrerOf(incoming))
      : guards.unlessExhausted(incoming, link, settings, emptyForm);
  };

  /** Responds to a posted form: the password's, or a confirmation after the link is unlocked. */
  async function respondToForm(
    incoming: IncomingRequest,
    link: CachedLink,
  ): Promise<RedirectorResponse> {
    const formAgain = (state: PasswordState, headers: Record<string, string> = {}) =>
      form(pages.of(incoming.head), state, headers, referrerOf(incoming));
    const password = readFormField(incoming, "password");
    const settings = guardsOf(link);
    if (password === undefined)
      return settings !== undefined && isUnlocked(incoming, link)
        ? await settle(guards.respond(incoming, link, settings))
        : formAgain("wrong");
    const result = await checkPassword(link, {
      address: reader.addressOf(incoming),
      password,
      knownVisitor: isUnlocked(incoming, link),
    });
    if (result === "limited") return formAgain("limited", { "retry-after": "60" });
    if (result === "busy") return formAgain("busy", { "retry-after": "2" });
    if (result === "wrong") {
      failures.count(incoming.head, { reason: "wrong_password", link });
      return formAgain("wrong");
    }
    const cookie = unlockCookies.issue(link, aliasPathOf(incoming.head));
    if (settings === undefined) {
      const response = redirects.respond(incoming, link, "password");
      return "location" in response ? withCookie(response, cookie) : response;
    }
    // A visitor who enters the password does not have to confirm as well.
    return withCookie(await settle(guards.respond(incoming, link, settings, true)), cookie);
  }

  return (incoming, link) =>
    incoming.head.method === "POST"
      ? respondToForm(copyRequest(incoming), copyLink(link))
      : respondToVisit(incoming, link);
}

type FormArguments = Parameters<LanguagePages["password"]>;

/** Adds a cookie to a response. */
function withCookie(response: RedirectorResponse, cookie: string): PageResponse {
  const page = "location" in response ? redirectResponse(toText(response.location)) : response;
  return { ...page, headers: { ...page.headers, "set-cookie": cookie } };
}
