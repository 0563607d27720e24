/** Whether a key may be sent to a server: what the command line and the extension ask first. */
import ipaddr from "ipaddr.js";

/** Suffixes of names that public DNS never has, in private networks. */
const PRIVATE_SUFFIX =
  /\.(?:localhost|local|lan|home|home\.arpa|internal|intranet|private|corp|test)$/;

/** Ranges of addresses of this machine and of its network. */
const PRIVATE_RANGES = new Set(["loopback", "private", "linkLocal", "uniqueLocal"]);

/**
 * Whether a request to this URL goes in plain text through networks of others: by HTTP, and not to
 * an address or a name that is of this machine or its private network.
 */
export function isReadByOthers(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: "", hostname: "" };
  if (protocol !== "http:") return false;
  const host = hostname.replaceAll(/[[\]]|\.$/g, "");
  return ipaddr.isValid(host)
    ? !PRIVATE_RANGES.has(ipaddr.parse(host).range())
    : host.includes(".") && !PRIVATE_SUFFIX.test(host);
}
