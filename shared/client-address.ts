/**
 * Determines the client's address behind proxies: `X-Forwarded-For` is read from the right, past
 * trusted proxies, to the first address that is not trusted. Entries written by the client itself
 * are therefore never used.
 */
import { isIP } from "node:net";

import { createAddressList } from "./addresses.ts";

/** Returns the client's address, given the socket's peer and the `X-Forwarded-For` header. */
export type ClientAddress = (peer: string, forwardedFor: string | null) => string;

/** Returns whether an address belongs to a trusted proxy. */
export type ProxyTrust = (address: string) => boolean;

/** Most proxies that are skipped; no real deployment has more. */
const PROXIES_MAX = 32;

/** Longest entry, with brackets, zone and port; longer ones are not addresses. */
const ENTRY_LENGTH_MAX = 80;

/**
 * `trusted` is a list of addresses and CIDR blocks, or a single number of proxies. Throws when an
 * entry is neither. Only as many entries of a header are read as there are proxies. `onIgnored` is
 * called for each header from a peer that is not trusted.
 */
export function createClientAddress(
  trusted: readonly string[],
  onIgnored: () => void = () => undefined,
): ClientAddress {
  const hops = parseHops(trusted);
  const isTrusted = hops === undefined ? createProxyTrust(trusted) : undefined;
  return (peer, forwardedFor) => {
    let client = normalizeAddress(peer);
    if (forwardedFor === null) return client;
    if (isTrusted?.(client) === false) {
      onIgnored();
      return client;
    }
    let end = forwardedFor.length;
    for (let skipped = 0; skipped < (hops ?? PROXIES_MAX) && end >= 0; skipped++) {
      if (isTrusted?.(client) === false) break;
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(",", end - 1);
      const address = parseEntry(forwardedFor, comma + 1, end);
      if (address === "" && hops === undefined) break;
      client = address;
      end = comma;
    }
    return client;
  };
}

/**
 * Takes the same list as {@link createClientAddress}. With a number of proxies every peer is
 * trusted.
 */
export function createProxyTrust(trusted: readonly string[]): ProxyTrust {
  const hops = parseHops(trusted);
  if (hops !== undefined) return () => hops > 0;
  // The common case, checked for every connection.
  if (trusted.length === 0) return () => false;
  return createAddressList(
    trusted,
    (entry) => new Error(`"${entry}" is neither an address, a CIDR block nor a number of proxies`),
  );
}

/** Returns the number of proxies; undefined when `trusted` lists addresses. */
function parseHops(trusted: readonly string[]): number | undefined {
  const [only] = trusted;
  if (trusted.length !== 1 || only === undefined || !/^\d+$/.test(only)) return undefined;
  const hops = Number(only);
  if (hops > PROXIES_MAX) throw new Error(`"${only}" are too many proxies: ${PROXIES_MAX} at most`);
  return hops;
}

/** Parses the entry between two commas; "" when it is not an address. */
const parseEntry = (header: string, start: number, end: number): string =>
  end - start > ENTRY_LENGTH_MAX ? "" : normalizeAddress(header.slice(start, end).trim());

/**
 * Removes port, brackets and the IPv4-mapped prefix; returns "" when the text is not an address.
 */
function normalizeAddress(text: string): string {
  const bare =
    /^\[(?<v6>[^\]]+)\](?::\d+)?$/.exec(text)?.groups?.["v6"] ??
    (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(text) ? text.slice(0, text.lastIndexOf(":")) : text);
  const unmapped = /^::ffff:(?<v4>\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.groups?.["v4"] ?? bare;
  return isIP(unmapped) === 0 ? "" : unmapped;
}
