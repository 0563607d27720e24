/** Responds to requests for links with a limit or a confirmation, where the visitor may not be led on. */
import type { LinkExtras } from "../shared/contracts/link-extras.ts";
import { type ErrorPages, redirectResponse } from "./error-pages.ts";
import type { RedirectorResponse } from "./http/response-writer.ts";
import type { ClickLimits, Taken } from "./limits/click-limits.ts";

type GuardsDeps = {
  limits: Pick<ClickLimits, "look">;
  pages: ErrorPages;
  onResponse: (kind: "confirm" | "busy" | "limit_reached") => void;
};

/** What a program sends that follows a link without a person. */
type Visit = { method: string; isAutomated: () => boolean };

export function createGuards({ limits, pages, onResponse }: GuardsDeps) {
  /** Responds to a request that got no click of the limit; calls `onReached` when none is left. */
  function refuse(
    taken: Exclude<Taken, "taken">,
    { expired_url }: LinkExtras,
    onReached: () => void,
  ): RedirectorResponse {
    if (taken === "busy") {
      onResponse("busy");
      return pages.message("busy", { "retry-after": "2" });
    }
    onResponse("limit_reached");
    onReached();
    return expired_url === undefined
      ? pages.message("limit_reached")
      : redirectResponse(expired_url);
  }

  /** Responds with a page that takes no click, unless none is left; then calls `onReached`. */
  function unlessSpent(
    extras: LinkExtras,
    page: () => RedirectorResponse,
    onReached: () => void,
  ): RedirectorResponse | Promise<RedirectorResponse> {
    if (extras.limit === undefined) return page();
    const respond = (spent: boolean) => (spent ? refuse("spent", extras, onReached) : page());
    const spent = limits.look(extras.limit);
    return spent instanceof Promise ? spent.then(respond) : respond(spent);
  }

  /** Responds with the page with a button. */
  const askToConfirm = (
    extras: LinkExtras,
    onReached: () => void,
  ): RedirectorResponse | Promise<RedirectorResponse> =>
    unlessSpent(extras, confirmationPage, onReached);

  function confirmationPage(): RedirectorResponse {
    onResponse("confirm");
    return pages.confirmation();
  }

  return { refuse, unlessSpent, askToConfirm };
}

/** The limit and the confirmation of extras; undefined when there is neither. */
export const guardsIn = (extras: LinkExtras | undefined): LinkExtras | undefined =>
  extras?.limit === undefined && extras?.confirm !== true ? undefined : extras;

/** Whether a request gets the page with a button: programs follow links, but do not press buttons. */
export function mustConfirm(
  { confirm, limit }: LinkExtras,
  { method, isAutomated }: Visit,
): boolean {
  // HEAD spends nothing, so it must not get the destination either.
  if (confirm === true || method !== "GET") return true;
  return limit?.humans === true && isAutomated();
}
