/**
 * Determines the client's address behind proxies: `X-Forwarded-For` is read from the right, past
 * trusted proxies, to the first address that is not trusted. Entries written by the client itself
 * are therefore never used.
 */
import { isIP } from "node:net";

import { AddressList, embeddedIpv4 } from "./addresses.ts";

/** Maximum proxies that are skipped; no real deployment has more. */
const PROXIES_MAX = 32;

/** Longest entry, with brackets, zone and port; longer ones are not addresses. */
const ENTRY_LENGTH_MAX = 80;

/** The proxies that a process trusts. */
export class TrustedProxies {
  /** The number of proxies; undefined if their addresses are listed. */
  readonly #hops: number | undefined;
  readonly #list: AddressList | undefined;
  readonly #onIgnored: () => void;

  /**
   * `trusted` is a list of addresses and CIDR blocks, or a single number of proxies. Throws when an
   * entry is neither. `onIgnored` is called for each header from a peer that is not trusted.
   */
  constructor(trusted: readonly string[], onIgnored: () => void = () => undefined) {
    this.#onIgnored = onIgnored;
    this.#hops = parseHops(trusted);
    // The common case, checked for every connection.
    if (this.#hops === undefined && trusted.length > 0) this.#list = parseProxies(trusted);
  }

  /** Whether an address is that of a proxy. With a number of proxies every peer is one. */
  trusts(address: string): boolean {
    return this.#hops === undefined ? this.#lists(address) : this.#hops > 0;
  }

  /**
   * Returns the client's address, given the socket's peer and the `X-Forwarded-For` header. Only as
   * many entries of a header are read as there are proxies.
   */
  clientOf(peer: string, forwardedFor: string | null): string {
    let client = normalizeAddress(peer);
    if (forwardedFor === null) return client;
    const isListed = this.#hops === undefined;
    if (isListed && !this.#lists(client)) {
      this.#onIgnored();
      return client;
    }
    let end = forwardedFor.length;
    for (let skipped = 0; skipped < (this.#hops ?? PROXIES_MAX) && end >= 0; skipped++) {
      if (isListed && !this.#lists(client)) break;
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(",", end - 1);
      const address = parseEntry(forwardedFor, comma + 1, end);
      if (address === "" && isListed) break;
      client = address;
      end = comma;
    }
    return client;
  }

  #lists(address: string): boolean {
    return this.#list?.has(address) ?? false;
  }
}

function parseProxies(trusted: readonly string[]): AddressList {
  try {
    return new AddressList(trusted);
  } catch (cause) {
    throw new TypeError(`${String(cause)}; a single entry may be a number of proxies`, { cause });
  }
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
 * Removes port and brackets, and what an IPv4 address is embedded in; returns "" when the text is
 * not an address.
 */
function normalizeAddress(text: string): string {
  const bare =
    /^\[(?<v6>[^\]]+)\](?::\d+)?$/.exec(text)?.groups?.["v6"] ??
    (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(text) ? text.slice(0, text.lastIndexOf(":")) : text);
  return isIP(bare) === 0 ? "" : (embeddedIpv4(bare) ?? bare);
}
