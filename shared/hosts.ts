/** Host names as requests bring them. */

/** A Host header or URL host in lower case, without port and trailing dot. */
export function hostName(host: string): string {
  const lower = host.toLowerCase();
  const bare = lower.startsWith("[")
    ? lower.slice(0, lower.indexOf("]") + 1)
    : lower.replace(/:\d*$/, "");
  return bare.endsWith(".") ? bare.slice(0, -1) : bare;
}

/** The hosts of the service's own short domain: that of `shortUrl`, and the further ones. */
export const ownHosts = (shortUrl: string, further: readonly string[]): ReadonlySet<string> =>
  new Set([new URL(shortUrl).host, ...further].map(hostName));
