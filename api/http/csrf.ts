/** Protects a signed-in browser against cross-site request forgery (CSRF). */
import { ApiError } from "./errors.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Throws `forbidden` for a request with an unsafe method that does not come from a page of
 * `origin`. Every current browser sends the origin of such a request; programs that do not send it
 * use API keys (OWASP Cross-Site Request Forgery Prevention Cheat Sheet: Fetch Metadata, Origin).
 */
export function requireSameOrigin(request: Request, origin: string): void {
  if (SAFE_METHODS.has(request.method)) return;
  const site = request.headers.get("sec-fetch-site");
  const from = request.headers.get("origin");
  if (from === origin && (site === null || site === "same-origin")) return;
  throw new ApiError("forbidden", "This request does not come from the dashboard.");
}
