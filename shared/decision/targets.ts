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
import { type EncodedRules, encodeRules, type RuleExplanation } from "./encoded-rules.ts";
import type { RequestFacts } from "./facts.ts";

/** A destination other than the link's own. */
export type Target = { kind: "rule" | "arm"; id: Uuid; url: string };

/** The rules of a link, which decide as those in a redirector's memory, and its split. */
export class Targets {
  readonly #rules: EncodedRules;
  readonly #split: SplitArms | undefined;

  constructor({ rules = [], split }: RedirectSettings) {
    this.#rules = encodeRules(rules);
    this.#split = split === undefined ? undefined : new SplitArms(split);
  }

  /** Returns the target of a request; undefined for the link's own destination. */
  choose(facts: RequestFacts): Target | undefined {
    return this.#rules.choose(facts) ?? this.#split?.choose(facts);
  }

  /**
   * Every rule with its conditions, up to the first that matches, in order; each as it is asked
   * for.
   */
  explain(facts: RequestFacts): Iterable<RuleExplanation> {
    return this.#rules.explain(facts);
  }
}

/** The arms of a split, which divide a link's visitors. */
export class SplitArms {
  readonly #key: number;
  readonly #until: number;
  /** Each with the sum of the percentages up to it. */
  readonly #shares: readonly { target: Target; end: number }[];

  constructor({ key, arms, until = Infinity }: Split) {
    this.#key = key;
    this.#until = until;
    let end = 0;
    this.#shares = arms.map(({ id, url, weight }) => ({
      target: { kind: "arm", id, url },
      end: (end += weight),
    }));
  }

  /** Returns the arm of a visitor; undefined for the link's own destination. */
  choose(facts: RequestFacts): Target | undefined {
    return facts.now() < this.#until ? this.armOf(facts.address(), facts.userAgent()) : undefined;
  }

  /**
   * Returns the arm of a visitor; undefined for visitors who get the link's own destination. The
   * same visitor has the same arm on every redirector, without a cookie: the arm depends on a hash
   * (xxHash) of network and user agent with the link's own random key: privacy extensions change
   * the rest of an IPv6 address every day (RFC 8981). A change of weights moves as few visitors as
   * possible between neighbouring arms.
   */
  armOf(address: string, userAgent: string): Target | undefined {
    const { network } = addressGroups(address);
    const percentile = Bun.hash.xxHash32(`${network}\n${userAgent}`, this.#key) % 100;
    return this.#shares.find((share) => percentile < share.end)?.target;
  }
}
