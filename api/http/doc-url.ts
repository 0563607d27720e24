/** The URLs of the page that explains the errors. */
import type { ErrorCode } from "./errors.ts";

/** The path of the page; each code is a fragment of it. */
export const ERRORS_PATH = "/docs/errors";

/**
 * Returns a function that finds the origin at which clients reach this site: the configured one, or
 * that of the request. A proxy may have terminated TLS, so the request's origin takes the scheme of
 * the service's short URLs.
 */
export const createOriginOf =
  (shortUrl: string, apiUrl: string | undefined) =>
  (request: Request): string => {
    if (apiUrl !== undefined) return apiUrl;
    const host = URL.parse(request.url)?.host;
    return host === undefined ? "" : `${new URL(shortUrl).protocol}//${host}`;
  };

/**
 * Returns a function that builds the URL of an error code's explanation, on the site that the
 * client used.
 */
export const createDocUrl =
  (originOf: (request: Request) => string) =>
  (request: Request, code: ErrorCode): string =>
    `${originOf(request)}${ERRORS_PATH}#${code}`;
