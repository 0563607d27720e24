/** Rules for custom aliases, shared by the API and the dashboard's forms. */

/**
 * The form of every alias, generated or chosen: a single path segment and a single NATS subject
 * token.
 */
export const ALIAS_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;

/** Paths that the short domain or a later feature needs; compared case-insensitively. */
const RESERVED = new Set([
  "v1",
  "v2",
  "api",
  "admin",
  "app",
  "assets",
  "auth",
  "dashboard",
  "docs",
  "favicon",
  "health",
  "healthz",
  "help",
  "login",
  "logout",
  "metrics",
  "openapi",
  "ready",
  "readyz",
  "robots",
  "settings",
  "signin",
  "signup",
  "sitemap",
  "static",
  "status",
  "well-known",
]);

/** Returns why an alias is not allowed, as a sentence; undefined when it is allowed. */
export function aliasProblem(alias: string): string | undefined {
  if (!ALIAS_PATTERN.test(alias)) {
    return "An alias has 1 to 64 characters of A–Z, a–z, 0–9, _ and -, and does not start with -.";
  }
  return RESERVED.has(alias.toLowerCase()) ? `The alias "${alias}" is reserved.` : undefined;
}
