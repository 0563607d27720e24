/**
 * Rules for aliases, shared by the API, the redirector, the dashboard's forms and the command line:
 * which texts are aliases, how they are written in URLs, and how they are read from them.
 */

/** Maximum characters (code points) of an alias, and so its maximum bytes in UTF-8. */
export const ALIAS_LENGTH_MAX = 64;
export const ALIAS_BYTES_MAX = 4 * ALIAS_LENGTH_MAX;

/** The form of generated aliases and of nearly all others, which need no further look. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_-]*(?:\/[A-Za-z0-9_-]+)*$/;

/**
 * A character of an alias, or the slash between two segments. Nobody sees default-ignorable code
 * points, so only emoji have them: joiners, variations, tags. The keycaps of `#` and `*` are
 * missing, as they would begin a fragment, and be taken for emphasis.
 */
const CHARACTERS =
  /[\p{RGI_Emoji}--\q{#\u{FE0F}\u{20E3}|*\u{FE0F}\u{20E3}}]|[[\p{L}\p{M}\p{N}]--\p{Default_Ignorable_Code_Point}]|[\-._~\/]/gvy;

/**
 * Not in an alias: a hyphen at its start, an empty segment, and a dot at the end of a segment,
 * which would be resolved as `.` and `..`, or taken for the end of a sentence.
 */
const BROKEN = /^$|^[-/]|\/\/|\/$|\.(?:\/|$)/;

/** First segments of the paths that redirectors serve themselves, on every domain. */
const SERVED = ["favicon.ico", "healthz", "robots.txt", ".well-known"];

/**
 * Further paths of the service's own short domain, which may be that of its API and dashboard too.
 */
const SERVED_ON_OWN_DOMAIN = [
  "v1",
  "v2",
  "v4",
  "api",
  "admin",
  "app",
  "assets",
  "auth",
  "client.tgz",
  "dashboard",
  "docs",
  "favicon",
  "health",
  "help",
  "keys",
  "login",
  "logout",
  "metrics",
  "openapi",
  "ready",
  "readyz",
  "report-link",
  "rest",
  "robots",
  "settings",
  "shared",
  "signin",
  "signup",
  "sitemap",
  "static",
  "status",
  "unsubscribe",
  "well-known",
  "yourls-api.php",
];

const RESERVED: ReadonlySet<string> = new Set(SERVED);
export const RESERVED_ON_OWN_DOMAIN: ReadonlySet<string> = new Set([
  ...SERVED,
  ...SERVED_ON_OWN_DOMAIN,
]);

/** Whether a text can be the alias of a link on some domain: in composed form, and not reserved. */
export const isAlias = (text: string): boolean =>
  hasForm(text) && !RESERVED.has(firstSegmentOf(text));

/**
 * Returns why an alias is not allowed, as a sentence; undefined when it is allowed, once it is
 * normalized. Words are reserved as the first segment, and compared case-insensitively. `domain` is
 * the account's own; null for the service's.
 */
export function aliasProblem(text: string, domain: string | null): string | undefined {
  const alias = normalizeAlias(text);
  if (!hasForm(alias)) {
    return "An alias has 1 to 64 letters, digits, emoji and characters of -._~, in segments separated by /. It does not start with -, and no segment ends with a dot.";
  }
  const reserved = domain === null ? RESERVED_ON_OWN_DOMAIN : RESERVED;
  return reserved.has(firstSegmentOf(alias)) ? `The alias "${alias}" is reserved.` : undefined;
}

function hasForm(text: string): boolean {
  if (text.length > ALIAS_BYTES_MAX || BROKEN.test(text)) return false;
  if (PLAIN.test(text)) return text.length <= ALIAS_LENGTH_MAX;
  return (
    beginningOf(text) === text &&
    Array.from(text).length <= ALIAS_LENGTH_MAX &&
    text.normalize("NFC") === text
  );
}

/** The beginning of a text that consists of characters of aliases and slashes. */
function beginningOf(text: string): string {
  let end = 0;
  // One by one: an expression that repeats them would try each emoji in all its parts.
  for (const [character] of text.matchAll(CHARACTERS)) {
    end += character.length;
    if (end > ALIAS_BYTES_MAX) break;
  }
  return text.slice(0, end);
}

const firstSegmentOf = (alias: string): string => alias.split("/", 1).join("").toLowerCase();

/**
 * A text as aliases are stored and compared ({@link compose}). One that is too long for an alias
 * stays as it is.
 */
export const normalizeAlias = (text: string): string =>
  text.length > ALIAS_BYTES_MAX ? text : compose(text);

/** A symbol that only its variation (U+FE0F) makes an emoji, where a keyboard left that out. */
const BARE_EMOJI =
  /([[\p{S}&&\p{Emoji}]--\p{Emoji_Presentation}])\u{FE0E}?(?![\u{FE0F}\p{Emoji_Modifier}])/gv;

/** An emoji by itself, with a variation that it does not need, as some keyboards type it. */
const VARIED_EMOJI = /(\p{Emoji_Presentation})[\u{FE0E}\u{FE0F}]/gv;

/**
 * A text in Unicode's composed form (NFC), with each emoji as Unicode recommends it. Nothing else
 * changes, and no alias does: neither a bare symbol nor a needless variation is in one.
 */
const compose = (text: string): string =>
  text.normalize("NFC").replace(VARIED_EMOJI, "$1").replace(BARE_EMOJI, "$1\u{FE0F}");

/**
 * An alias in lower case, as domains that ignore case compare it; PostgreSQL's `fold_alias` does
 * the same. Each character becomes one, so a sigma is the same at the end of a word.
 */
export const foldAlias = (alias: string): string =>
  PLAIN.test(alias)
    ? alias.toLowerCase()
    : Array.from(alias, (character) => (character === "İ" ? "i" : character.toLowerCase()))
        .join("")
        .normalize("NFC");

/** An alias as the path of a URL has it after the first slash: percent-encoded, but for slashes. */
export const encodeAlias = (alias: string): string =>
  alias.split("/").map(encodeURIComponent).join("/");

/** A path without escapes and characters beyond ASCII: nearly every one. */
const DECODED = /^[!-$&-~]*$/;

/** Escapes in a row; that of a slash is none, as it does not separate segments. */
const ESCAPES = /(?:%(?!2f)[\da-f]{2})+/gi;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * A path, or a part of one, as text as aliases have it: raw and percent-encoded characters are the
 * same, but an escaped slash stays escaped. What is no UTF-8 becomes U+FFFD.
 */
export const decodeAliasPath = (path: string): string =>
  DECODED.test(path)
    ? path
    : compose(
        path.replaceAll(ESCAPES, (escapes) =>
          decoder.decode(
            Uint8Array.from(escapes.slice(1).split("%"), (hex) => Number.parseInt(hex, 16)),
          ),
        ),
      );

/** Characters that are glued to the beginning of an alias, such as an opening quotation mark. */
const OPENING = /^(?:[/\s\p{Cf}\p{Default_Ignorable_Code_Point}\ufffc\p{Ps}\p{Pi}"'`<]|%2[Ff])*/u;

/**
 * Text that is glued to the end of an alias where people write, copy and scan short URLs:
 * punctuation, or text after a character that ends a URL in a text or a query. East Asian
 * punctuation ends one too, as no blank follows it. The escape of a character that an alias may
 * have is none, although it is escaped twice: it was meant as a part of the short URL.
 */
const JUNK =
  /^(?:[/\s\p{P}\p{Cf}\p{Default_Ignorable_Code_Point}$+<=>^`|~]|%2[Ff])*?(?:$|[\s&?#"'<>|\\\p{Pi}\p{Pf}\p{Cf}\p{Default_Ignorable_Code_Point}\ufffc\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0c\uff0e\uff0f\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff65]|%(?!2[D-Fd-f]|3\d|[46][1-9A-Fa-f]|[57][\dAa]|5[Ff]|7[Ee]|[89A-Fa-f]))/su;

/** Whether what follows an alias, decoded, cannot have been meant as a part of the short URL. */
export const isJunk = (text: string): boolean => JUNK.test(text);

/**
 * The alias in a path, decoded, that has junk around it: slashes, blanks and opening marks before
 * it, junk after it. Undefined for another path.
 */
export function trimAlias(path: string): string | undefined {
  const text = path.replace(OPENING, "");
  const beginning = beginningOf(text);
  let { length } = beginning;
  while (beginning[length - 1] === "." || beginning[length - 1] === "/") length--;
  const alias = text.slice(0, length);
  return isAlias(alias) && isJunk(text.slice(length)) ? alias : undefined;
}
