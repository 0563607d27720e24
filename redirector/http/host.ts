/** Validates the hosts of requests. */
import { decodeLatin1, equalsText } from "./bytes.ts";

/**
 * Maximum length of a host: a name of 253 characters (RFC 1035 §2.3.4), a trailing dot and a port.
 */
const HOST_LENGTH_MAX = 253 + 1 + 6;

/**
 * A name without empty labels or an address, and a port (RFC 3986 §3.2.2, without forms that no
 * short domain has).
 */
const HOST_FORM = /^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Whether a text has the form of a host. */
export const isHost = (text: string): boolean =>
  text.length <= HOST_LENGTH_MAX && HOST_FORM.test(text);

/** The last host read; nearly always the next request has the same. */
let lastHost = "";

/** Reads a host; undefined when it is malformed. */
export function readHost(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start === lastHost.length && equalsText(bytes, start, lastHost)) return lastHost;
  // Checked before a string is created, which `lastHost` would retain.
  if (end - start > HOST_LENGTH_MAX) return undefined;
  const host = decodeLatin1(bytes, start, end);
  if (!isHost(host)) return undefined;
  lastHost = host;
  return host;
}
