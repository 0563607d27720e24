/**
 * Rules for destinations, applied to the result of the WHATWG URL parser; shared by the API and the
 * dashboard's forms.
 */
import { hasControlCharacter } from "./text.ts";

/** Most characters of a destination after normalization. */
export const URL_LENGTH_MAX = 8_192;

/**
 * Most characters before it: normalization can shorten a URL (`a/../`), but not to a quarter in
 * practice.
 */
const TEXT_LENGTH_MAX = 4 * URL_LENGTH_MAX;

/**
 * Most characters of host, user and port before parsing. A host name has at most 253 in ASCII (RFC
 * 1035 §2.3.4). The parser's time grows with the square of the labels: a name of 1 MiB would take
 * 24 s.
 */
const AUTHORITY_LENGTH_MAX = 1_024;

/**
 * The authority of an http or https URL as the parser sees it: any number of slashes may precede
 * it.
 */
const AUTHORITY = /^[a-z]+:[/\\]*(?<authority>[^/\\?#]*)/i;

/**
 * Parses an absolute http or https URL. When it is not acceptable, returns the reason as a
 * sentence.
 */
export function parseWebUrl(text: string): { original: string; url: URL } | { problem: string } {
  if (text.length > TEXT_LENGTH_MAX) return TOO_LONG;
  const original = text.trim();
  // The parser would silently remove tabs and line breaks, and the stored URL would differ from the
  // submitted one.
  if (hasControlCharacter(original)) return { problem: "The URL holds a control character." };
  const authority = AUTHORITY.exec(original)?.groups?.["authority"] ?? "";
  const url = authority.length > AUTHORITY_LENGTH_MAX ? null : URL.parse(original);
  if (url === null) return { problem: "The URL is not a valid absolute URL." };
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { problem: "The URL must be an http or https URL." };
  }
  if (url.href.length > URL_LENGTH_MAX) return TOO_LONG;
  // The parser removes an empty user name, but people would still see it.
  if (authority.includes("@")) {
    return { problem: "The URL must not hold a user name or a password." };
  }
  return { original, url };
}

const TOO_LONG = { problem: `The URL may have ${URL_LENGTH_MAX} characters at most.` };
