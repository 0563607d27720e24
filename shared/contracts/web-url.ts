/**
 * Rules for destinations, applied to the result of the WHATWG URL parser; shared by the API and the
 * dashboard's forms.
 */
import { hasControlCharacter, trimInvisible } from "./text.ts";

/** Maximum characters of a destination after normalization. */
export const URL_LENGTH_MAX = 8_192;

/**
 * Maximum characters before it: normalization can shorten a URL (`a/../`), but not to a quarter in
 * practice.
 */
const TEXT_LENGTH_MAX = 4 * URL_LENGTH_MAX;

/**
 * Maximum characters of host, user and port before parsing. A host name has at most 253 in ASCII
 * (RFC 1035 §2.3.4). The parser's time grows with the square of the labels: a name of 1 MiB would
 * take 24 s.
 */
const AUTHORITY_LENGTH_MAX = 1_024;

/**
 * The authority of an http or https URL as the parser sees it: any number of slashes may precede
 * it.
 */
const AUTHORITY = /^[a-z]+:[/\\]*(?<authority>[^/\\?#]*)/i;

/**
 * The characters of a part of a URI (RFC 3986 §2): reserved and unreserved characters, and `%`
 * with two hexadecimal digits. The URL parser lets more be.
 */
const IN_URI = /^[!$&-;=?-[\]_a-z~]$/i;
const NOT_IN_URI = /[^!$%&-;=?-[\]_a-z~]|%(?![0-9a-f]{2})/i;

/** Each byte as a part of a URI has it. */
const ENCODED = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  const hex = byte.toString(16).toUpperCase().padStart(2, "0");
  return IN_URI.test(character) ? character : `%${hex}`;
});

const PERCENT = 0x25;

/**
 * Percent-encodes what no part of a URI may contain. The text has one character for each byte; any
 * visitor can send it, and a loop takes a fifth of the time of a replacement by a function.
 */
export function encodeUriPart(text: string): string {
  if (!NOT_IN_URI.test(text)) return text;
  let encoded = "";
  for (let i = 0; i < text.length; i++) {
    const byte = text.charCodeAt(i);
    const isEscape = byte === PERCENT && isHexDigit(text, i + 1) && isHexDigit(text, i + 2);
    encoded += isEscape ? "%" : (ENCODED[byte] ?? "");
  }
  return encoded;
}

function isHexDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const lower = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** A URL as responses name it: `Location` is a URI-reference (RFC 9110 §10.2.2). */
export function toUri({ href }: URL): string {
  const at = href.indexOf("#");
  return at < 0
    ? encodeUriPart(href)
    : `${encodeUriPart(href.slice(0, at))}#${encodeUriPart(href.slice(at + 1))}`;
}

/** The URL of a text that {@link parseWebUrl} accepts, as responses name it. */
export const uriOf = (text: string): string => toUri(new URL(text));

/**
 * An acceptable URL: as it was sent, but for invisible characters at its ends, and as responses
 * name it.
 */
export type WebUrl = { original: string; url: URL; uri: string };

/**
 * Parses an absolute http or https URL. When it is not acceptable, returns the reason as a
 * sentence.
 */
export function parseWebUrl(text: string): WebUrl | { problem: string } {
  if (text.length > TEXT_LENGTH_MAX) return TOO_LONG;
  const original = trimInvisible(text);
  // The parser would silently remove tabs and line breaks, and the stored URL would differ from the
  // submitted one.
  if (hasControlCharacter(original)) return { problem: "The URL holds a control character." };
  const authority = AUTHORITY.exec(original)?.groups?.["authority"] ?? "";
  const url = authority.length > AUTHORITY_LENGTH_MAX ? null : URL.parse(original);
  if (url === null) return { problem: "The URL is not a valid absolute URL." };
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { problem: "The URL must be an http or https URL." };
  }
  const uri = toUri(url);
  if (uri.length > URL_LENGTH_MAX) return TOO_LONG;
  // The parser removes an empty user name, but people would still see it.
  if (authority.includes("@")) {
    return { problem: "The URL must not hold a user name or a password." };
  }
  return { original, url, uri };
}

const TOO_LONG = { problem: `The URL may have ${URL_LENGTH_MAX} characters at most.` };

/**
 * The start of a text that could be a host: labels with dots between them, before a port, path,
 * query or fragment. Many scripts have marks within words, and keyboards of East Asia other dots.
 */
const HOST =
  /^(?<labels>[\p{L}\p{M}\p{N}\p{So}_-]{1,63}(?:[.。．｡][\p{L}\p{M}\p{N}\p{So}_-]{1,63}){1,16})(?::\d{1,5})?(?:[/?#]|$)/u;

/** The last label of a name, which is not a number: browsers parse `1.5` as an address. */
const TOP_LEVEL = /(?:^|[.。．｡])\p{L}[\p{L}\p{M}\p{N}-]+$/u;

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * Returns a text without what nobody sees at its ends, with `https://` before a host without a
 * scheme: `example.com/x` is `https://example.com/x`.
 */
export function completeUrl(text: string): string {
  const url = trimInvisible(text);
  const rest = url.startsWith("//") ? url.slice(2) : url;
  const labels = HOST.exec(rest)?.groups?.["labels"] ?? "";
  const isHost = TOP_LEVEL.test(labels) || IPV4.test(labels);
  return isHost ? `https://${rest}` : url;
}
