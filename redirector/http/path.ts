/** Normalizes the path of a request that matches no cached link byte by byte. */

const ESCAPE = /%([0-9A-Fa-f]{2})?/g;

/** Characters that mean the same with and without an escape (RFC 3986 §2.3). */
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/**
 * Normalizes a path: decodes the escapes of unreserved characters (RFC 3986 §6.2.2.2) and drops one
 * trailing slash. Returns undefined for a malformed one: an incomplete escape, an escaped NUL, or a
 * `..`, which clients resolve before they send a path (RFC 3986 §5.2.4).
 */
export function normalizePath(path: string): string | undefined {
  let malformed = false;
  const decoded = path.replaceAll(ESCAPE, (escape, hex: string | undefined) => {
    malformed ||= hex === undefined || hex === "00";
    const character = String.fromCharCode(Number.parseInt(hex ?? "", 16));
    return UNRESERVED.test(character) ? character : escape;
  });
  if (malformed || decoded.split("/").includes("..")) return undefined;
  return decoded.length > 1 && decoded.endsWith("/") ? decoded.slice(0, -1) : decoded;
}
