/** Keeps other sites from acting by a signed-in browser (cross-site request forgery). */
import { ApiError } from "./errors.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Throws `forbidden` for a request that may change something and does not come from a page of `origin`.
 * Every current browser says where such a request comes from; what does not say it is no browser, and
 * has API keys (OWASP Cross-Site Request Forgery Prevention Cheat Sheet: Fetch Metadata, Origin).
 */
export function requireSameOrigin(request: Request, origin: string): void {
  if (SAFE_METHODS.has(request.method)) return;
  const site = request.headers.get("sec-fetch-site");
  const from = request.headers.get("origin");
  if (from === origin && (site === null || site === "same-origin")) return;
  throw new ApiError("forbidden", "This request does not come from the dashboard.");
}
