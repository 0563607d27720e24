/** Splits: divide a link's visitors among its versions. */
import { addressGroups } from "../address-group.ts";
import type { Split } from "../contracts/redirect-settings.ts";

/** A version, and the sum of the percentages up to it. */
type Share<Version> = { version: Version; end: number };

/**
 * Returns the version of a visitor; undefined for visitors who get the link's own destination. The
 * same visitor has the same version on every redirector, without a cookie: the version depends on a
 * hash (xxHash) of network and user agent with the link's own random key: privacy extensions change
 * the rest of an IPv6 address every day (RFC 8981). A change of weights moves as few visitors as
 * possible between neighbouring versions.
 */
export function createSplit<Version>(
  { key, versions }: Pick<Split, "key" | "versions">,
  toVersion: (version: Split["versions"][number]) => Version,
): (address: string, userAgent: string) => Version | undefined {
  let end = 0;
  const shares: Share<Version>[] = versions.map((version) => ({
    version: toVersion(version),
    end: (end += version.weight),
  }));
  return (address, userAgent) => {
    const { network } = addressGroups(address);
    const percentile = Bun.hash.xxHash32(`${network}\n${userAgent}`, key) % 100;
    return shares.find((share) => percentile < share.end)?.version;
  };
}
