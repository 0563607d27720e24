/** The destination of a request: the link's or a rule's, with the forwarded path and query. */
import { type ByteSlice, sliceToString } from "../../shared/bytes.ts";
import { encodeUriPart } from "../../shared/contracts/web-url.ts";
import type { Target } from "../../shared/decision/targets.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import type { RequestHead } from "../http/request-head.ts";
import { type IncomingRequest, toLatin1 } from "../http/request.ts";
import { suffixOf } from "./beyond-alias.ts";
import { forwardPath } from "./forward-path.ts";
import { forwardQuery } from "./forward-query.ts";
import type { RequestReader } from "./request-reader.ts";

/** A URL: as text, or as the bytes in a link's record. */
export type Location = string | ByteSlice;

export type Destinations = {
  /** The target that replaces the destination for this request; undefined for nearly all links. */
  targetOf(incoming: IncomingRequest, link: CachedLink): Target | undefined;
  /**
   * The destination, with the request's path and query if the link forwards them; undefined when
   * that is too long.
   */
  locationOf(
    incoming: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
  ): Location | undefined;
};

export function createDestinations({ settingsOf, factsOf }: RequestReader): Destinations {
  /** The destination, with the path after the alias if the link forwards it. */
  function withPath(
    destination: Location,
    link: CachedLink,
    head: RequestHead,
  ): Location | undefined {
    if (link.settings === null || settingsOf(link)?.settings.forward_path !== "append")
      return destination;
    const suffix = encodeUriPart(suffixOf(toLatin1(head, head.path)));
    return suffix === "" ? destination : forwardPath(toText(destination), suffix);
  }

  return {
    targetOf(incoming, link) {
      if (link.settings === null) return undefined;
      const target = link.rules?.choose(factsOf(incoming));
      return target ?? settingsOf(link)?.chooseArm?.(factsOf(incoming));
    },
    locationOf({ head }, link, target) {
      const destination = withPath(target?.url ?? link.destination, link, head);
      if (destination === undefined) return undefined;
      if (!link.forward_query || head.query.start === head.query.end) return destination;
      return forwardQuery(toText(destination), head.bytes, head.query);
    },
  };
}

export const toText = (location: Location): string =>
  typeof location === "string" ? location : sliceToString(location);
