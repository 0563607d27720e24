/** A part of a request that is filled up to bounds on input. */
import type { HttpRequest } from "../requests.ts";
import type { Route } from "../routes.ts";
import { bound } from "./bounds.ts";

export type Filling = {
  /** The share of each bound that is filled, up to 1. */
  share: number;
  /** Bytes of the head for this part. */
  room: number;
  /** Different for each request, so that no cache knows a text that contains it. */
  nonce: string;
  route: Route;
  /** An existing link. */
  linkId: string;
};

/** Fills one part of a request. */
export type Part = (request: HttpRequest, filling: Filling) => HttpRequest;

/** Parts of a request, of which one of each group is filled. */
export type Parts = Readonly<Record<string, Readonly<Record<string, Part>>>>;

/** Leaves the request as it is. */
export const PLAIN: Part = (request) => request;

/** Bytes of a head without filled parts, generously. */
const HEAD_REST = 1_500;
/** Also the most that Bun reads for the API. */
const HEAD_BYTES_MAX = bound("redirector/http/request-head-parser.ts", "HEAD_BYTES_MAX");

/** Fills the chosen parts, which share a head. */
export function fillRequest(
  base: HttpRequest,
  parts: readonly Part[],
  filling: Omit<Filling, "room">,
): HttpRequest {
  const filled = parts.filter((part) => part !== PLAIN);
  const room = Math.floor((HEAD_BYTES_MAX - HEAD_REST) / Math.max(1, filled.length));
  let request = base;
  for (const part of filled) request = part(request, { ...filling, room });
  return request;
}

/** Repeats a unit until it has about this many characters; at least once. */
export const repeat = (unit: string, characters: number): string =>
  unit.repeat(Math.max(1, Math.floor(characters / unit.length)));
