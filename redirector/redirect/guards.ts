/**
 * Responds to requests for links with a click limit or a confirmation: redirects when both allow
 * it.
 */
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { type CachedLink, copyLink } from "../../shared/links-store/record.ts";
import { copyRequest, type IncomingRequest, readFormField } from "../http/request.ts";
import { copyResponse, type RedirectorResponse, redirectResponse } from "../http/response.ts";
import type { ClickLimits } from "../limits/click-limits.ts";
import type { ClickOutcome } from "../limits/holdings.ts";
import type { ErrorPages, LanguagePages } from "../pages/error-pages.ts";
import { type Destinations, toText } from "./destination.ts";
import type { FailureCounter } from "./failure-counter.ts";
import type { Redirects } from "./redirects.ts";
import type { RequestReader } from "./request-reader.ts";
import { referrerOf } from "./visit-referrer.ts";

type GuardsDeps = {
  limits: Pick<ClickLimits, "take" | "look">;
  destinations: Destinations;
  redirects: Redirects;
  reader: Pick<RequestReader, "factsOf">;
  failures: Pick<FailureCounter, "onLimitReached">;
  pages: ErrorPages;
  onResponse: (kind: "confirm" | "busy" | "limit_reached") => void;
};

export type Guards = {
  /**
   * Redirects after the visitor has confirmed, if the link requires that, and if the limit leaves a
   * click.
   */
  respond(
    incoming: IncomingRequest,
    link: CachedLink,
    settings: RedirectSettings,
    confirmed?: boolean,
  ): RedirectorResponse | Promise<RedirectorResponse>;
  /** Responds with a page that consumes no click, unless the limit is reached. */
  unlessExhausted(
    incoming: IncomingRequest,
    link: CachedLink,
    settings: RedirectSettings,
    page: (pages: LanguagePages, referrer: string) => RedirectorResponse,
  ): RedirectorResponse | Promise<RedirectorResponse>;
};

/** The outcome for a request that gets no click of a limit. */
type Refusal = Exclude<ClickOutcome, "taken">;

export function createGuards(deps: GuardsDeps): Guards {
  const { limits, destinations, redirects, reader, failures, pages, onResponse } = deps;

  /** Responds to a request that got no click of the limit; calls `onReached` when none is left. */
  function refuse(
    languagePages: LanguagePages,
    taken: Refusal,
    { expired_url }: RedirectSettings,
    onReached: () => void,
  ): RedirectorResponse {
    if (taken === "busy") {
      onResponse("busy");
      return languagePages.message("busy", { "retry-after": "2" });
    }
    onResponse("limit_reached");
    onReached();
    return expired_url === undefined
      ? languagePages.message("limit_reached")
      : redirectResponse(expired_url);
  }

  const refuseClick = (
    taken: Refusal,
    { head }: IncomingRequest,
    link: CachedLink,
    settings: RedirectSettings,
  ) => refuse(pages.of(head), taken, settings, failures.onLimitReached(head, link));

  const unlessExhausted: Guards["unlessExhausted"] = (incoming, link, settings, page) => {
    const { head } = incoming;
    const languagePages = pages.of(head);
    const referrer = referrerOf(incoming);
    if (settings.limit === undefined) return page(languagePages, referrer);
    const onReached = failures.onLimitReached(head, link);
    const respond = (exhausted: boolean) =>
      exhausted
        ? refuse(languagePages, "spent", settings, onReached)
        : page(languagePages, referrer);
    const exhausted = limits.look(settings.limit);
    return exhausted instanceof Promise ? exhausted.then(respond) : respond(exhausted);
  };

  function confirmationPage(languagePages: LanguagePages, referrer: string): RedirectorResponse {
    onResponse("confirm");
    return languagePages.confirmation(referrer);
  }

  return {
    respond(incoming, link, settings, confirmed = hasConfirmed(incoming)) {
      if (!confirmed && mustConfirm(incoming, settings, reader))
        return unlessExhausted(incoming, link, settings, confirmationPage);
      const target = destinations.targetOf(incoming, link);
      const location = destinations.locationOf(incoming, link, target);
      // No click is consumed for a response that cannot be sent.
      if (location === undefined) return redirects.tooLong(incoming);
      const taken = settings.limit === undefined ? "taken" : limits.take(settings.limit);
      if (taken === "taken")
        return redirects.redirectTo(location, incoming, link, target, "redirect");
      if (!(taken instanceof Promise)) return refuseClick(taken, incoming, link, settings);
      const [request, copy, url] = [copyRequest(incoming), copyLink(link), toText(location)];
      return taken.then((outcome) =>
        copyResponse(
          outcome === "taken"
            ? redirects.redirectTo(url, request, copy, target, "redirect")
            : refuseClick(outcome, request, copy, settings),
        ),
      );
    },
    unlessExhausted,
  };
}

/**
 * Whether a request gets the page with a button: programs follow links, but do not press buttons.
 */
function mustConfirm(
  incoming: IncomingRequest,
  { confirm, limit }: RedirectSettings,
  reader: GuardsDeps["reader"],
): boolean {
  // HEAD consumes no click, so its response must not contain the destination.
  if (confirm === true || incoming.head.method !== "GET") return true;
  return limit?.humans === true && reader.factsOf(incoming).isAutomated();
}

/** Whether the form of the confirmation was posted. */
const hasConfirmed = (incoming: IncomingRequest): boolean =>
  incoming.head.method === "POST" && readFormField(incoming, "confirm") === "yes";
