/** Forwards the path after the alias, and the short URL's query, to the destination. */
import type { ByteRange } from "../../shared/bytes.ts";
import { joinUrl, parameterName, splitUrl } from "../../shared/contracts/query-string.ts";
import { encodeUriPart, toUri } from "../../shared/contracts/web-url.ts";
import { decodeLatin1 } from "../http/bytes.ts";

/**
 * Maximum bytes of a destination with what is forwarded: twice the limit of a destination itself.
 */
export const LOCATION_BYTES_MAX = 16 * 1024;

/**
 * Maximum parameters that are compared, the destination's own and the forwarded ones together.
 * Frameworks stop between several hundred and 1,000 (Node's `maxKeys`).
 */
export const PARAMETERS_MAX = 256;

/** Escapes of `%` before a dangerous escape: software that decodes twice would see the latter. */
const NESTED_ESCAPES = /%(?:25)+(?=2e|2f|5c)/gi;

/** Escapes of `.`, `/` and the backslash. */
const SEPARATORS = /%(2e|2f|5c)/gi;

/**
 * Whether a path after an alias, such as `/a/b`, may be appended to the path of a destination.
 * Rejects what could leave that path: `.` and `..` as segments, also with parameters (`..;x`),
 * backslashes, and two slashes at the start, however they are escaped.
 */
export function isForwardable(suffix: string): boolean {
  const plain = suffix
    .replaceAll(NESTED_ESCAPES, "%")
    .replaceAll(SEPARATORS, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  // A normalized path has lost the second of two slashes at its end.
  if (plain.includes("\\") || plain.startsWith("//") || plain === "/") return false;
  return plain.split("/").every((segment) => !isDots(segment.split(";")[0] ?? ""));
}

const isDots = (segment: string): boolean => segment === "." || segment === "..";

/**
 * Returns a destination with a forwardable suffix after its path; scheme, host, query and fragment
 * stay. Escapes characters that are invalid in a URI. Returns undefined when the result takes more
 * than {@link LOCATION_BYTES_MAX} bytes.
 */
export function forwardPath(destination: string, suffix: string): string | undefined {
  const url = new URL(destination);
  url.pathname = url.pathname.replace(/\/$/, "") + suffix;
  const location = toUri(url);
  return location.length > LOCATION_BYTES_MAX ? undefined : location;
}

/**
 * Returns `destination` with the parameters of `query`, the raw bytes of a request's query. Both
 * stay byte for byte as they are and in their order; only what no URI may contain is
 * percent-encoded. The destination's own parameters take precedence: forwarded ones of the same
 * name, as decoded, are omitted.
 * Returns undefined when there are more than {@link PARAMETERS_MAX} parameters, or when the result
 * takes more than {@link LOCATION_BYTES_MAX} bytes. Time is linear in both lengths.
 */
export function forwardQuery(
  destination: string,
  bytes: Buffer,
  { start, end }: ByteRange,
): string | undefined {
  const url = splitUrl(destination);
  const own = url.parameters.filter(isParameter);
  const forwarded = decodeLatin1(bytes, start, end).split("&");
  if (own.length + forwarded.filter(isParameter).length > PARAMETERS_MAX) return undefined;
  const names = new Set(own.map(parameterName));
  const added = forwarded.filter((one) => !isParameter(one) || !names.has(parameterName(one)));
  if (!added.some(isParameter)) return destination;
  const location = joinUrl(url, encodeUriPart(added.join("&")));
  // All parts are ASCII, so characters are bytes.
  return location.length > LOCATION_BYTES_MAX ? undefined : location;
}

/** Whether a part between two `&` is a parameter: nothing is none. */
const isParameter = (part: string): boolean => part !== "";
