/**
 * Decides the destination of a request for a link. This is the only place where a rule decides.
 *
 * A link has its own destination, and may have rules and a split. {@link compileTargets} compiles them when the link is first
 * used. Then `choose` decides each request:
 *
 * 1. The first rule, in the order of the link, whose conditions all match. A condition tests a fact of the request, such as
 *    country, device, language or time. A fact that is unknown matches neither a condition nor its inverse.
 * 2. If no rule matches, the split's arm of the visitor, by a hash of address and user agent: the same visitor gets the same arm
 *    on every redirector.
 * 3. Otherwise undefined, which is the link's own destination.
 *
 * The redirector calls it only for a request that reaches a destination. Whether it does is decided before, and without rules:
 * the link exists, has started, has not expired, and its limit is not reached (`redirector/redirect/decision.ts`). The API
 * explains a request (`POST /v1/links/{id}/explain`) with the same function, so both always agree.
 */
import type { RedirectSettings, Rule } from "../contracts/redirect-settings.ts";
import type { Uuid } from "../ids.ts";
import { truncateText } from "../visitors/truncate-text.ts";
import { compileCondition, type CompiledCondition } from "./conditions.ts";
import type { RequestFacts } from "./facts.ts";
import { createSplit } from "./split.ts";

/** Most characters of a request's value in an explanation, for each condition: as many as a condition's own values have. */
const ACTUAL_LENGTH_MAX = 255;

/** A destination other than the link's own. */
export type Target = { kind: "rule" | "arm"; id: Uuid; url: string };

type CompiledRule = { rule: Rule; target: Target; conditions: readonly CompiledCondition[] };

/** The compiled rules and split of a link. */
export type Targets = {
  /** Returns the target of a request; undefined for the link's own destination. */
  choose(facts: RequestFacts): Target | undefined;
  /** Every rule with its conditions, up to the first that matches, in order; each as it is asked for. */
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
