/** Hosts as requests name them. */
import { equal, textOf } from "./bytes.ts";

/** A registered name or an address, and a port (RFC 3986 §3.2.2, without what no host of ours has). */
export const HOST_FORM = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** The host that was read last: nearly always the next one as well. */
let lastHost = "";

/** A sound host; undefined when it is none. */
export function hostAt(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start === lastHost.length && equal(bytes, start, lastHost)) return lastHost;
  const host = textOf(bytes, start, end);
  if (!HOST_FORM.test(host)) return undefined;
  lastHost = host;
  return host;
}
