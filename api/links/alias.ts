/** Aliases: the rules for chosen ones, and how one is generated. */
import { randomInt } from "node:crypto";

/** Letters and digits without look-alikes (0 O 1 l I) and without vowels, so that no words appear. */
const ALPHABET = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ";

/** Length a generated alias starts with: 49^7 is about 6.8 × 10^11. */
export const GENERATED_LENGTH = 7;

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

/** Makes an alias of `length` characters from the system's secure random source. */
export const generateAlias = (length: number): string =>
  Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
