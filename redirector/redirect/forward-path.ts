/** Forwards the path after the alias to the destination. */
import { toUri } from "../../shared/contracts/web-url.ts";
import { LOCATION_BYTES_MAX } from "./forward-query.ts";

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
