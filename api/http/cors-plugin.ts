/**
 * Lets pages of the configured origins call the API from a browser (Cross-Origin Resource Sharing,
 * the Fetch standard).
 */
import { Elysia } from "elysia";

import { addVary } from "./vary.ts";

/** The response headers that such a page may read, besides those that every page may read. */
const EXPOSED = [
  "ETag",
  "Idempotent-Replayed",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-Propagation",
  "X-RateLimit-Limit",
  "X-RateLimit-Policy",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
].join(", ");

const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, X-Share-Access",
  // Chromium caches a preflight for two hours at most.
  "access-control-max-age": "7200",
};

/**
 * Allows requests from `origins`, or from all with `*`. The API uses no cookies, so a page can only
 * use a key that it already has. A preflight needs no key and consumes nothing.
 */
export const corsPlugin = (origins: readonly string[]) =>
  new Elysia({ name: "cors" }).onRequest(({ request, set }) => {
    const origin = request.headers.get("origin");
    const isAllowed = origin !== null && (origins.includes("*") || origins.includes(origin));
    if (origins.length > 0) addVary(set.headers, "Origin");
    if (!isAllowed) return undefined;
    set.headers["access-control-allow-origin"] = origin;
    set.headers["access-control-expose-headers"] = EXPOSED;
    const isPreflight =
      request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    if (!isPreflight) return undefined;
    Object.assign(set.headers, PREFLIGHT);
    set.status = 204;
    return new Response(null, { status: 204 });
  });
