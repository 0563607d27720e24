/** Responds to a request according to its decision. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { uriOf } from "../../shared/contracts/web-url.ts";
import type { IncomingRequest } from "../http/request.ts";
import { type RedirectorResponse, redirectResponse } from "../http/response.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import { FAVICON, HEALTHY, ROBOTS } from "../pages/fixed-pages.ts";
import type { FinalDecision } from "./decision.ts";
import type { FailureCounter } from "./failure-counter.ts";
import type { Guards } from "./guards.ts";
import type { createLinkPages } from "./link-pages.ts";
import type { createMissingLinks } from "./missing-links.ts";
import type { RespondToPassword } from "./passwords.ts";
import type { Redirects } from "./redirects.ts";
import { toVisit } from "./visit-referrer.ts";

type RespondDeps = {
  redirects: Pick<Redirects, "respond">;
  guards: Pick<Guards, "respond">;
  respondToPassword: RespondToPassword;
  missingLinks: ReturnType<typeof createMissingLinks>;
  linkPages: ReturnType<typeof createLinkPages>;
  failures: Pick<FailureCounter, "count">;
  pages: ErrorPages;
  rootRedirectUrl: string | undefined;
  onResponse: (kind: PageDecision["kind"]) => void;
};

/** Decisions whose response is a page, or a redirect to a configured URL. */
type PageDecision = Exclude<
  FinalDecision,
  { kind: "redirect" | "guarded" | "password" | "not_found" | "expired" }
>;

/** Responds as decided; `record` is the link's own, if it was read for this request. */
export type Respond = (
  incoming: IncomingRequest,
  decision: FinalDecision,
  record?: LinkRecord,
) => RedirectorResponse | Promise<RedirectorResponse>;

export function createRespond(deps: RespondDeps): Respond {
  const { redirects, guards, respondToPassword, missingLinks, linkPages, failures, pages } = deps;
  const redirect = redirects.respond;
  const root =
    deps.rootRedirectUrl === undefined ? undefined : redirectResponse(uriOf(deps.rootRedirectUrl));

  function respondPage(
    incoming: IncomingRequest,
    decision: PageDecision,
    record: LinkRecord | undefined,
  ): RedirectorResponse {
    deps.onResponse(decision.kind);
    if (decision.kind === "expired_url" || decision.kind === "limit_reached")
      failures.count(incoming.head, decision.failure);
    switch (decision.kind) {
      case "preview":
        return linkPages.preview(incoming, decision.preview);
      case "about":
        return linkPages.about(incoming, decision.link, record);
      case "expired_url":
        return redirectResponse(decision.url);
      case "root":
        return root ?? pages.of(incoming.head).message("home");
      case "robots":
        return ROBOTS;
      case "favicon":
        return FAVICON;
      case "healthy":
        return HEALTHY;
      case "method_not_allowed":
        return pages.of(incoming.head).message("method_not_allowed", { allow: decision.allow });
      default:
        return pages.of(incoming.head).message(decision.kind);
    }
  }

  return (incoming, decision, record) => {
    if (decision.kind === "redirect") return redirect(incoming, decision.link, "redirect");
    if (decision.kind === "guarded")
      return guards.respond(toVisit(incoming), decision.link, decision.settings);
    if (decision.kind === "password") return respondToPassword(toVisit(incoming), decision.link);
    if (decision.kind === "not_found" || decision.kind === "expired")
      return missingLinks.respond(incoming, decision);
    return respondPage(incoming, decision, record);
  };
}
