/**
 * Decides the destination of a request for a link. Nothing else chooses a destination by a rule.
 *
 * A link has its own destination, and may have rules and a split. {@link compileTargets} compiles
 * them when the link is first used. For each request, `choose` returns:
 *
 * 1. the destination of the first rule, in the link's order, whose conditions all match. A
 *    condition tests a fact of the request, such as country, device, language or time. A condition
 *    on an unknown fact is false, and so is its negation: with an unknown country, neither "the
 *    country is DE" nor "the country is not DE" matches;
 * 2. if no rule matches, the visitor's arm of the split, unless the split has ended. The arm is
 *    chosen by a hash of address and user agent, so that the same visitor gets the same arm on
 *    every redirector;
 * 3. otherwise `undefined`: the link's own destination.
 *
 * The redirector calls `choose` only after `redirector/redirect/decision.ts` has established,
 * without rules, that the link exists, has started, has not expired and has not reached its limit.
 * The API's explanation of a request (`POST /v1/links/{id}/explain`) uses the same compiled rules
 * and order, so an explanation always agrees with the redirect.
 */
import type { RedirectSettings, Rule } from "../contracts/redirect-settings.ts";
import type { Uuid } from "../ids.ts";
import { truncateText } from "../visitors/truncate-text.ts";
import { compileCondition, type CompiledCondition } from "./conditions.ts";
import type { RequestFacts } from "./facts.ts";
import { createSplit } from "./split.ts";

/**
 * Maximum length of a request's value in an explanation, the same as that of a condition's values.
 */
const ACTUAL_LENGTH_MAX = 255;

/** A destination other than the link's own. */
export type Target = { kind: "rule" | "arm"; id: Uuid; url: string };

type CompiledRule = { rule: Rule; target: Target; conditions: readonly CompiledCondition[] };

/** The compiled rules and split of a link. */
export type Targets = {
  /** Returns the target of a request; undefined for the link's own destination. */
  choose(facts: RequestFacts): Target | undefined;
  /**
   * Every rule with its conditions, up to the first that matches, in order; each as it is asked
   * for.
   */
  explain(facts: RequestFacts): Iterable<RuleExplanation>;
};

type RuleExplanation = {
  id: string;
  url: string;
  matched: boolean;
  /** `actual` is the value of the request, perhaps truncated; null when it is unknown. */
  conditions: { type: string; matched: boolean; actual: string | null }[];
};

/** Compiles the rules and the split of a link. */
export function compileTargets({ rules = [], split }: RedirectSettings): Targets {
  const compiled: CompiledRule[] = rules.map((rule) => ({
    rule,
    target: { kind: "rule", id: rule.id, url: rule.url },
    conditions: rule.conditions.map(compileCondition),
  }));
  const chooseArm = compileSplit(split);
  return {
    choose: (facts) => compiled.find((rule) => matches(rule, facts))?.target ?? chooseArm?.(facts),
    *explain(facts) {
      for (const compiledRule of compiled) {
        const explained = explainRule(compiledRule, facts);
        yield explained;
        if (explained.matched) return;
      }
    },
  };
}

function explainRule({ rule, conditions }: CompiledRule, facts: RequestFacts): RuleExplanation {
  const explained = conditions.map((condition, i) => ({
    type: rule.conditions[i]?.type ?? "",
    matched: condition.matches(facts),
    actual: shorten(condition.actual(facts)),
  }));
  const matched = explained.every((condition) => condition.matched);
  return { id: rule.id, url: rule.url, matched, conditions: explained };
}

/** Truncates a text, and marks that with `…`. */
const shorten = (text: string | null): string | null =>
  text !== null && text.length > ACTUAL_LENGTH_MAX
    ? `${truncateText(text, ACTUAL_LENGTH_MAX - 1)}…`
    : text;

function compileSplit(
  split: RedirectSettings["split"],
): ((facts: RequestFacts) => Target | undefined) | undefined {
  if (split === undefined) return undefined;
  const { until = Infinity } = split;
  const armOf = createSplit(split, ({ id, url }): Target => ({ kind: "arm", id, url }));
  return (facts) => (facts.now() < until ? armOf(facts.address(), facts.userAgent()) : undefined);
}

const matches = ({ conditions }: CompiledRule, facts: RequestFacts): boolean =>
  conditions.every((condition) => condition.matches(facts));
