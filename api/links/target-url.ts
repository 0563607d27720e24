/**
 * Destinations: what a link may lead to, decided on what the WHATWG parser makes of the text,
 * never on the text itself.
 */
import { BlockList, isIP } from "node:net";

import { parseWebUrl } from "../../shared/contracts/web-url.ts";
import { hostName } from "../../shared/hosts.ts";

export type TargetRules = {
  /** Whether private addresses and localhost are allowed. */
  allowPrivate: boolean;
  /** The service's own short address; a link to it would redirect to itself. */
  shortUrl: URL;
  /** All host names of that address. */
  ownHosts: ReadonlySet<string>;
};

/** Why a link cannot lead to a short link: it would redirect to itself, or to one that does. */
export const OWN_LINK = "The URL must not be a short link of this service.";

export type Target = { original: string; href: string; host: string };

/** Reads a destination; gives the reason, as a sentence, when it is not allowed. */
export function parseTarget(text: string, rules: TargetRules): Target | { problem: string } {
  const parsed = parseWebUrl(text);
  if ("problem" in parsed) return parsed;
  const { original, url } = parsed;
  const problem = hostProblem(url, rules);
  return problem === undefined
    ? { original, href: url.href, host: hostName(url.host) }
    : { problem };
}

function hostProblem(
  url: URL,
  { allowPrivate, shortUrl, ownHosts }: TargetRules,
): string | undefined {
  const host = hostName(url.hostname);
  const local = isPrivateHost(host);
  // On a private host other services share the name, so there the port tells them apart.
  if (local ? url.host === shortUrl.host : ownHosts.has(host)) {
    return OWN_LINK;
  }
  if (local) return allowPrivate ? undefined : "The URL must not lead to a private address.";
  if (addressOf(host) === undefined && !/[^.]\.[^.]/.test(host)) {
    return "The URL's host must be a full domain name.";
  }
  return undefined;
}

const privateAddresses = createPrivateAddresses();

function isPrivateHost(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  const address = addressOf(host);
  if (address === undefined) return false;
  return privateAddresses.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** The address when the host is one; the parser has already normalised 0x7f.1 and the like. */
function addressOf(host: string): string | undefined {
  const bare = host.replace(/^\[|\]$/g, "");
  return isIP(bare) === 0 ? undefined : bare;
}

/** Blocks that are not reachable across the public internet (IANA special-purpose registries). */
function createPrivateAddresses(): BlockList {
  const list = new BlockList();
  const blocks4: [string, number][] = [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["240.0.0.0", 4],
  ];
  const blocks6: [string, number][] = [
    ["::", 127],
    ["fc00::", 7],
    ["fe80::", 10],
    ["fec0::", 10],
  ];
  for (const [address, bits] of blocks4) {
    list.addSubnet(address, bits, "ipv4");
    list.addSubnet(`::ffff:${address}`, 96 + bits, "ipv6");
  }
  for (const [address, bits] of blocks6) list.addSubnet(address, bits, "ipv6");
  return list;
}
