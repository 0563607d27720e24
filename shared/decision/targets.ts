/**
 * Decides the destination of a request for a link. Nothing else chooses a destination by a rule.
 *
 * A link has its own destination, and may have rules and a split. For each request, `choose`
 * returns:
 *
 * 1. the destination of the first rule, in the link's order, whose conditions all match. A
 *    condition tests a fact of the request, such as country, device, language or time. A condition
 *    on an unknown fact is false, and so is its negation: with an unknown country, neither "the
 *    country is DE" nor "the country is not DE" matches;
 * 2. if no rule matches, the visitor's arm of the split, unless the split has ended. The arm is
 *    chosen by a hash of network and user agent, so that the same visitor gets the same arm on
 *    every redirector;
 * 3. otherwise `undefined`: the link's own destination.
 *
 * The redirector calls `choose` only after `redirector/redirect/decision.ts` has established,
 * without rules, that the link exists, has started, has not expired and has not reached its limit.
 * The API's explanation of a request (`POST /v1/links/{id}/explain`) evaluates the same encoded
 * rules in the same order, so an explanation always agrees with the redirect.
 */
import { addressGroups } from "../addresses.ts";
import type { RedirectSettings, Split } from "../contracts/redirect-settings.ts";
import type { Uuid } from "../ids.ts";
import { encodeRules, type RuleExplanation } from "./encoded-rules.ts";
import type { RequestFacts } from "./facts.ts";

/** A destination other than the link's own. */
export type Target = { kind: "rule" | "arm"; id: Uuid; url: string };

/** Chooses the arm of a visitor; undefined for the link's own destination. */
export type ChooseArm = (facts: RequestFacts) => Target | undefined;

/** The rules and the split of a link, to decide and to explain. */
export type Targets = {
  /** Returns the target of a request; undefined for the link's own destination. */
  choose(facts: RequestFacts): Target | undefined;
  /**
   * Every rule with its conditions, up to the first that matches, in order; each as it is asked
   * for.
   */
  explain(facts: RequestFacts): Iterable<RuleExplanation>;
};

/** Encodes the rules of a link, which decide as those in a redirector's memory. */
export function compileTargets({ rules = [], split }: RedirectSettings): Targets {
  const encoded = encodeRules(rules);
  const chooseArm = compileSplit(split);
  return {
    choose: (facts) => encoded.choose(facts) ?? chooseArm?.(facts),
    explain: (facts) => encoded.explain(facts),
  };
}

export function compileSplit(split: RedirectSettings["split"]): ChooseArm | undefined {
  if (split === undefined) return undefined;
  const { until = Infinity } = split;
  const armOf = createSplit(split, ({ id, url }): Target => ({ kind: "arm", id, url }));
  return (facts) => (facts.now() < until ? armOf(facts.address(), facts.userAgent()) : undefined);
}

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
