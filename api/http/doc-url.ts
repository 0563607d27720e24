/** The addresses of the page that explains the errors. */
import type { ErrorCode } from "./errors.ts";

/** The path of the page; each code is a fragment of it. */
export const ERRORS_PATH = "/docs/errors";

/**
 * Returns a function for the origin at which the client reached this site. A proxy may have ended TLS, so the scheme is that
 * of the service's short URLs.
 */
export const createOriginOf =
  (shortUrl: string) =>
  (request: Request): string => {
    const host = URL.parse(request.url)?.host;
    return host === undefined ? "" : `${new URL(shortUrl).protocol}//${host}`;
  };

/** Returns a function that names the page for a code on the host that the client used. */
export const createDocUrl = (shortUrl: string) => {
  const originOf = createOriginOf(shortUrl);
  return (request: Request, code: ErrorCode): string =>
    `${originOf(request)}${ERRORS_PATH}#${code}`;
};
