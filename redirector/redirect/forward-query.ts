/** Forwards the short URL's query to the destination. */
import type { ByteRange } from "../../shared/bytes.ts";

/**
 * Maximum bytes of a destination with a forwarded query: twice the limit of a destination itself.
 */
export const LOCATION_BYTES_MAX = 16 * 1024;

/**
 * Maximum parameters that are merged, the destination's own and the forwarded ones together:
 * parsing, comparing and writing one takes about a microsecond. Frameworks stop between several
 * hundred and 1,000 (Node's `maxKeys`).
 */
export const PARAMETERS_MAX = 256;

/**
 * Returns `destination` with the parameters of `query`, the raw bytes of a request's query. The
 * destination's own parameters take precedence: forwarded parameters of the same name are omitted.
 * Repeated names are grouped after their first occurrence, their values in order. Invalid UTF-8,
 * raw or percent-encoded, becomes U+FFFD, and a `%` without two hexadecimal digits becomes `%25`,
 * as in the WHATWG's form parser.
 * Returns undefined when there are more than {@link PARAMETERS_MAX} parameters, or when the result,
 * or only the percent-encoded query, takes more than {@link LOCATION_BYTES_MAX} bytes. Time is
 * linear in both lengths.
 */
export function forwardQuery(
  destination: string,
  bytes: Buffer,
  query: ByteRange,
): string | undefined {
  if (encodedLengthMin(bytes, query) > LOCATION_BYTES_MAX) return undefined;
  const { href } = new URL(destination);
  const [beforeHash, hash] = splitAt(href, "#");
  const [path, ownQuery] = splitAt(beforeHash, "?");
  const own = Buffer.from(ownQuery);
  const parameters =
    countParameters(own, { start: 0, end: own.length }) + countParameters(bytes, query);
  if (parameters > PARAMETERS_MAX) return undefined;
  const merged = merge(ownQuery, bytes.toString("utf8", query.start, query.end));
  if (merged === undefined) return href;
  const location = `${path}?${merged}${hash}`;
  // All parts are ASCII, so characters are bytes.
  return location.length > LOCATION_BYTES_MAX ? undefined : location;
}

/** Merges two queries; returns undefined when the second adds nothing. */
function merge(ownQuery: string, query: string): string | undefined {
  const merged = new URLSearchParams(ownQuery);
  const own = new Set(merged.keys());
  const added = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (own.has(name)) continue;
    const values = added.get(name);
    if (values === undefined) added.set(name, [value]);
    else values.push(value);
  }
  if (added.size === 0) return undefined;
  for (const [name, values] of added) for (const value of values) merged.append(name, value);
  return merged.toString();
}

/** A lower bound of the percent-encoded length: each byte beyond ASCII takes at least three. */
function encodedLengthMin(bytes: Buffer, { start, end }: ByteRange): number {
  let length = end - start;
  for (let at = start; at < end; at++) if ((bytes[at] ?? 0) >= 0x80) length += 2;
  return length;
}

const AMPERSAND = 38;

function countParameters(bytes: Buffer, { start, end }: ByteRange): number {
  let count = 0;
  let last = AMPERSAND;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (last === AMPERSAND && byte !== AMPERSAND) count++;
    last = byte;
  }
  return count;
}

/** Splits a text before the first `separator`. */
function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}
