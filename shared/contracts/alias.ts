/** Rules for custom aliases, shared by the API, the redirector and the dashboard's forms. */

/**
 * The form of every alias, generated or chosen: a single path segment and a single NATS subject
 * token.
 */
export const ALIAS_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;

/**
 * First segments of the paths that redirectors serve themselves, on every domain. Those with a dot
 * are no aliases either.
 */
const SERVED = ["favicon.ico", "healthz", "robots.txt", ".well-known"];

/**
 * Further paths of the service's own short domain, which may be that of its API and dashboard too.
 */
const SERVED_ON_OWN_DOMAIN = [
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
];

const RESERVED: ReadonlySet<string> = new Set(SERVED);
export const RESERVED_ON_OWN_DOMAIN: ReadonlySet<string> = new Set([
  ...SERVED,
  ...SERVED_ON_OWN_DOMAIN,
]);

/**
 * Returns why an alias is not allowed, as a sentence; undefined when it is allowed. Reserved words
 * are compared case-insensitively. `domain` is the account's own; null for the service's.
 */
export function aliasProblem(alias: string, domain: string | null): string | undefined {
  if (!ALIAS_PATTERN.test(alias)) {
    return "An alias has 1 to 64 characters of A–Z, a–z, 0–9, _ and -, and does not start with -.";
  }
  const reserved = domain === null ? RESERVED_ON_OWN_DOMAIN : RESERVED;
  return reserved.has(alias.toLowerCase()) ? `The alias "${alias}" is reserved.` : undefined;
}

/**
 * An alias with what is glued to a short URL where people write, copy and scan it: slashes, blanks
 * and opening marks before it; after it punctuation, or what begins with a character that ends a
 * URL in a text or a query. None of these can be part of an alias.
 */
const GLUED =
  /^[/\s\p{Cf}\p{Default_Ignorable_Code_Point}\ufffc\p{Ps}\p{Pi}"'`<]*(?<alias>[A-Za-z0-9_][A-Za-z0-9_-]{0,63})(?![\w-])(?<junk>.*)$/su;

/**
 * The escape of a character that an alias may have is none, although it is escaped twice: it was
 * meant as a part of the short URL.
 */
const JUNK =
  /^[/\s\p{P}\p{Cf}\p{Default_Ignorable_Code_Point}$+<=>^`|~]*?(?:$|[\s&?#"'<>\\\p{Pi}\p{Pf}\p{Cf}\p{Default_Ignorable_Code_Point}\ufffc]|%(?!2[Dd]|3\d|[46][1-9A-Fa-f]|[57][\dAa]|5[Ff]))/su;

/** Whether what follows an alias, decoded, cannot have been meant as a part of the short URL. */
export const isJunk = (text: string): boolean => JUNK.test(text);

/** The alias in a path, decoded, that has junk around it; undefined for another path. */
export function trimAlias(path: string): string | undefined {
  const { alias, junk = "" } = GLUED.exec(path)?.groups ?? {};
  return isJunk(junk) ? alias : undefined;
}
