/** Redirects to a link's destination after the click is recorded. */
import type { Target } from "../../shared/decision/targets.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import type { IncomingRequest } from "../http/request.ts";
import type { RedirectorResponse } from "../http/response.ts";
import type { ErrorPages } from "../pages/error-pages.ts";
import type { RecordClick } from "./click-recorder.ts";
import type { Destinations, Location } from "./destination.ts";

/**
 * The label under which a redirect is counted: of a link without a password, or after a correct
 * one.
 */
type RedirectKind = "redirect" | "password";

type RedirectsDeps = {
  destinations: Destinations;
  recordClick: RecordClick;
  pages: ErrorPages;
  onResponse: (kind: RedirectKind | "uri_too_long") => void;
};

export type Redirects = {
  /** Redirects to the destination of this request; 414 when that is too long. */
  respond(incoming: IncomingRequest, link: CachedLink, kind: RedirectKind): RedirectorResponse;
  /** Redirects to a location, and records the click unless the request is a HEAD. */
  redirectTo(
    location: Location,
    incoming: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
    kind: RedirectKind,
  ): RedirectorResponse;
  /** Responds that a destination is too long with the forwarded path or query. */
  tooLong(incoming: IncomingRequest): RedirectorResponse;
};

export function createRedirects({
  destinations: { targetOf, locationOf },
  recordClick,
  pages,
  onResponse,
}: RedirectsDeps): Redirects {
  // Reused by all redirects, so that they allocate nothing: it is written or copied before the
  // next.
  const redirect: { location: Location } = { location: "" };

  function redirectTo(
    location: Location,
    incoming: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
    kind: RedirectKind,
  ): RedirectorResponse {
    onResponse(kind);
    if (incoming.head.method !== "HEAD") recordClick(incoming, link, target);
    redirect.location = location;
    return redirect;
  }

  function tooLong({ head }: IncomingRequest): RedirectorResponse {
    onResponse("uri_too_long");
    return pages.of(head).message("uri_too_long");
  }

  return {
    respond(incoming, link, kind) {
      const target = targetOf(incoming, link);
      const location = locationOf(incoming, link, target);
      return location === undefined
        ? tooLong(incoming)
        : redirectTo(location, incoming, link, target, kind);
    },
    redirectTo,
    tooLong,
  };
}
