/** Splits: which share of a link's visitors an arm gets. */
import type { Split } from "../contracts/link-extras.ts";

/** An arm, and the percentages of visitors before it and with it. */
type Share<Arm> = { arm: Arm; end: number };

/**
 * Returns the arm of a visitor; undefined for the rest, whom the link's own destination gets. The same visitor has the
 * same arm on every redirector, without a cookie: the arm follows from a hash (xxHash) of address and user agent under
 * the link's own random key. A change of weights moves only as many visitors as it must between neighbouring arms.
 */
export function createSplit<Arm>(
  { key, arms }: Pick<Split, "key" | "arms">,
  toArm: (arm: Split["arms"][number]) => Arm,
): (address: string, userAgent: string) => Arm | undefined {
  let end = 0;
  const shares: Share<Arm>[] = arms.map((arm) => ({ arm: toArm(arm), end: (end += arm.weight) }));
  return (address, userAgent) => {
    const percentile = Bun.hash.xxHash32(`${address}\n${userAgent}`, key) % 100;
    return shares.find((share) => percentile < share.end)?.arm;
  };
}
