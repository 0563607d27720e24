/**
 * Decides the destination of a request for a link: the one implementation of rules. The redirector and the API's explanation
 * both use it, so that they cannot differ.
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
  /** Every rule with its conditions, up to the first that matches, in order. */
  explain(facts: RequestFacts): RuleExplanation[];
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
    explain(facts) {
      const first = compiled.findIndex((rule) => matches(rule, facts));
      return compiled.slice(0, first < 0 ? compiled.length : first + 1).map((rule, i) => ({
        id: rule.rule.id,
        url: rule.rule.url,
        matched: i === first,
        conditions: rule.conditions.map((condition, i) => ({
          type: rule.rule.conditions[i]?.type ?? "",
          matched: condition.matches(facts),
          actual: shorten(condition.actual(facts)),
        })),
      }));
    },
  };
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
