/**
 * Whose request it is when proxies stand in front: `X-Forwarded-For` read from the right, past the
 * proxies we trust, to the first address we do not. What a stranger writes there is never believed.
 */
import { BlockList, isIP } from "node:net";

/** Finds the client's address from the socket's peer and the `X-Forwarded-For` header. */
export type ClientAddress = (peer: string, forwardedFor: string | null) => string;

/**
 * `trusted` is a list of addresses and CIDR blocks, or one whole number: how many proxies stand in
 * front. Throws when an entry is none of these.
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const [only] = trusted;
  if (trusted.length === 1 && only !== undefined && /^\d+$/.test(only)) {
    const hops = Number(only);
    return (peer, forwardedFor) => {
      const chain = [...forwardedAddresses(forwardedFor), normalise(peer)];
      return chain.at(-1 - hops) ?? chain[0] ?? peer;
    };
  }
  const isTrusted = createTrust(trusted);
  return (peer, forwardedFor) => {
    let client = normalise(peer);
    if (forwardedFor === null || trusted.length === 0) return client;
    for (const address of forwardedAddresses(forwardedFor).toReversed()) {
      if (!isTrusted(client) || address === "") break;
      client = address;
    }
    return client;
  };
}

function createTrust(trusted: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of trusted) {
    const [address = "", bits] = entry.split("/");
    const version = isIP(address);
    const prefix = bits === undefined ? (version === 6 ? 128 : 32) : Number(bits);
    if (version === 0 || !Number.isInteger(prefix)) {
      throw new Error(`"${entry}" is neither an address, a CIDR block nor a number of proxies`);
    }
    list.addSubnet(address, prefix, version === 6 ? "ipv6" : "ipv4");
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
  };
}

/** The addresses of the header from left to right; what is not an address becomes "". */
const forwardedAddresses = (header: string | null): string[] =>
  header === null ? [] : header.split(",").map((entry) => normalise(entry.trim()));

/** Drops a port, brackets and the IPv4-in-IPv6 form; "" when it is no address. */
function normalise(text: string): string {
  const bare =
    /^\[(?<v6>[^\]]+)\](?::\d+)?$/.exec(text)?.groups?.["v6"] ??
    (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(text) ? text.slice(0, text.lastIndexOf(":")) : text);
  const unmapped = /^::ffff:(?<v4>\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.groups?.["v4"] ?? bare;
  return isIP(unmapped) === 0 ? "" : unmapped;
}
