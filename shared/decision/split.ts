/** Splits: divide a link's visitors among its arms. */
import { addressGroups } from "../address-group.ts";
import type { Split } from "../contracts/redirect-settings.ts";

/** An arm, and the sum of the percentages up to it. */
type Share<Arm> = { arm: Arm; end: number };

/**
 * Returns the arm of a visitor; undefined for visitors who get the link's own destination. The same
 * visitor has the same arm on every redirector, without a cookie: the arm depends on a hash
 * (xxHash) of network and user agent with the link's own random key: privacy extensions change the
 * rest of an IPv6 address every day (RFC 8981). A change of weights moves as
 * few visitors as possible between neighbouring arms.
 */
export function createSplit<Arm>(
  { key, arms }: Pick<Split, "key" | "arms">,
  toArm: (arm: Split["arms"][number]) => Arm,
): (address: string, userAgent: string) => Arm | undefined {
  let end = 0;
  const shares: Share<Arm>[] = arms.map((arm) => ({ arm: toArm(arm), end: (end += arm.weight) }));
  return (address, userAgent) => {
    const { network } = addressGroups(address);
    const percentile = Bun.hash.xxHash32(`${network}\n${userAgent}`, key) % 100;
    return shares.find((share) => percentile < share.end)?.arm;
  };
}
