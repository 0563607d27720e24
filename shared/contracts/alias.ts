/** The rules for aliases that are chosen: the same in the dashboard's forms and in the API. */

const FORM = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;

/** Paths the short domain or a later feature needs for itself; compared without case. */
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

/** Why an alias is not allowed; undefined when it is. */
export function aliasProblem(alias: string): string | undefined {
  if (!FORM.test(alias)) {
    return "An alias has 1 to 64 characters of A–Z, a–z, 0–9, _ and -, and does not start with -.";
  }
  return RESERVED.has(alias.toLowerCase()) ? `The alias "${alias}" is reserved.` : undefined;
}
