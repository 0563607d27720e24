/** Responses: the redirect of a link, or a page. */
import { STATUS_CODES } from "node:http";

import { type ByteSlice, copySlice } from "../../shared/bytes.ts";
import {
  DEFAULT_REDIRECT_STATUS,
  type RedirectStatus,
} from "../../shared/contracts/redirect-status.ts";

/** Any response but the redirect of a link. Its body is rendered once and reused. */
export type PageResponse = { status: number; headers: Record<string, string>; body: Buffer };

/** The redirect of a link: its object is reused for the next one. */
export type LinkRedirect = { location: string | ByteSlice; status: RedirectStatus };

/** A response: the redirect of a link, or anything else. */
export type RedirectorResponse = LinkRedirect | PageResponse;

/** Maximum bytes of a page: enough for a template with one or two images as `data:` URLs. */
export const PAGE_BYTES_MAX = 256 * 1024;

export const EMPTY_BODY = Buffer.alloc(0);

/** A redirect with its own headers. `location` must be ASCII, as parsed URLs are. */
export const redirectResponse = (location: string): PageResponse => ({
  status: DEFAULT_REDIRECT_STATUS,
  headers: { location, "cache-control": "private, no-store" },
  body: EMPTY_BODY,
});

const rejectionResponses = new Map<number, PageResponse>();

/** The plain-text response that rejects a malformed request. */
export function rejectionResponse(status: number): PageResponse {
  let response = rejectionResponses.get(status);
  if (response === undefined) {
    response = {
      status,
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: Buffer.from(`${STATUS_CODES[status] ?? ""}\n`),
    };
    rejectionResponses.set(status, response);
  }
  return response;
}

/** Copies a response, so that it stays unchanged across an `await`. */
export function copyResponse(response: RedirectorResponse): RedirectorResponse {
  if (!("location" in response) || typeof response.location === "string") return { ...response };
  return { ...response, location: copySlice(response.location) };
}

/** Awaits a response. Copies one that is there: the next request may change it meanwhile. */
export const settle = async (
  response: RedirectorResponse | Promise<RedirectorResponse>,
): Promise<RedirectorResponse> =>
  response instanceof Promise ? await response : copyResponse(response);
