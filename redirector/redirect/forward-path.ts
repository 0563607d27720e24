/** Forwards what a short URL's path has beyond the alias to the destination. */
import { LOCATION_BYTES_MAX } from "./forward-query.ts";

/** Escapes of `%` before an escape that matters here: software that decodes twice would see the latter. */
const NESTED_ESCAPES = /%(?:25)+(?=2e|2f|5c)/gi;

/** Escapes of `.`, `/` and the backslash. */
const SEPARATORS = /%(2e|2f|5c)/gi;

/**
 * Whether a path beyond an alias, such as `/a/b`, may be put behind the path of a destination. Refuses what could lead out
 * of that path: `.` and `..` as segments, also with parameters (`..;x`), backslashes, and two slashes at the beginning,
 * however they are escaped.
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
 * Returns a destination with a forwardable suffix behind its path; scheme, host, query and fragment stay. Characters that
 * a URL cannot have are escaped. Returns undefined when the result takes more than {@link LOCATION_BYTES_MAX} bytes.
 */
export function forwardPath(destination: string, suffix: string): string | undefined {
  const url = new URL(destination);
  url.pathname = url.pathname.replace(/\/$/, "") + suffix;
  return url.href.length > LOCATION_BYTES_MAX ? undefined : url.href;
}
