/** Whether a key may be sent to a server: what the command line and the extension ask first. */

/** Suffixes of names that public DNS never has, in private networks. */
const PRIVATE_SUFFIX =
  /\.(?:localhost|local|lan|home|home\.arpa|internal|intranet|private|corp|test)$/;

/** Loopback, link-local and private (RFC 1918), as the URL parser writes them. */
const PRIVATE_IPV4 = /^(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){1,3}$/;

/** Loopback, unique local (RFC 4193) and link-local. */
const PRIVATE_IPV6 = /^\[(?:::1\]|f[cd][\da-f]{2}:|fe[89ab][\da-f]:)/;

/**
 * Whether a request to this URL goes in plain text through networks of others: by HTTP, and not to
 * an address or a name that is of this machine or its private network.
 */
export function isReadByOthers(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: "", hostname: "" };
  if (protocol !== "http:") return false;
  const host = hostname.replace(/\.$/, "");
  const isOneLabel = /^[^.:[\]]+$/.test(host);
  return !(
    isOneLabel ||
    PRIVATE_SUFFIX.test(host) ||
    PRIVATE_IPV4.test(host) ||
    PRIVATE_IPV6.test(host)
  );
}
