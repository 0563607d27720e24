/**
 * Evaluates rules on stored clicks, with the redirector's own conditions. A stored click lacks
 * parts of the request. Where a condition needs one of those, its result is unknown.
 */
import type { Condition, Rule } from "../../../shared/contracts/redirect-settings.ts";
import { compileCondition } from "../../../shared/decision/conditions.ts";
import { rememberFacts, type RequestFacts, toAgentNames } from "../../../shared/decision/facts.ts";
import type { Agent } from "../../../shared/visitors/user-agent.ts";

/** Columns of clicks that conditions read. */
export type ClickColumns = {
  country: string;
  continent: string;
  device: Agent["device"];
  os: string;
  browser: string;
  /** The primary subtag of the language; "" for none. */
  language: string;
  referrer: string;
};

/** The column that a condition reads; null for none. */
export const columnOf = ({ type }: Pick<Condition, "type">): keyof ClickColumns | null =>
  type === "ip" || type === "query" || type === "time" || type === "schedule" ? null : type;

/** A stored click, with only the columns that the rules read; `at` in Unix milliseconds. */
export type StoredClick = Partial<ClickColumns> & { at: number };

/** The index of a rule, and whether it certainly decides the click. */
export type Verdict = { rule: number; isCertain: boolean };

/** undefined: the click lacks what the condition needs. */
type Outcome = boolean | undefined;

/**
 * Returns a function that finds the rule that decides a click, or the first that may decide it.
 * Rules after an uncertain one are not evaluated. undefined: no rule matches.
 */
export function compileRules(
  rules: readonly Pick<Rule, "conditions">[],
): (click: StoredClick) => Verdict | undefined {
  const compiled = rules.map(({ conditions }) => conditions.map(compileEvaluator));
  let current: StoredClick;
  const { facts, forget } = factsOf(() => current);
  return (click) => {
    current = click;
    forget();
    for (const [rule, conditions] of compiled.entries()) {
      const outcome = evaluateAll(conditions, click, facts);
      if (outcome !== false) return { rule, isCertain: outcome === true };
    }
    return undefined;
  };
}

type EvaluateCondition = (click: StoredClick, facts: RequestFacts) => Outcome;

/** One condition that does not match makes the result false, even if others are unknown. */
function evaluateAll(
  conditions: readonly EvaluateCondition[],
  click: StoredClick,
  facts: RequestFacts,
): Outcome {
  let isCertain = true;
  for (const evaluate of conditions) {
    const outcome = evaluate(click, facts);
    if (outcome === false) return false;
    isCertain &&= outcome === true;
  }
  return isCertain ? true : undefined;
}

function compileEvaluator(condition: Condition): EvaluateCondition {
  if (condition.type === "ip" || condition.type === "query") return () => undefined;
  const matches = compileCondition(condition);
  if (condition.type !== "language") return (_, facts) => matches(facts);
  const tags = new Set(condition.in.map((tag) => tag.toLowerCase()));
  // A click with `de-AT` is stored as `de`, so a condition on `de-AT` may have matched.
  const broader = new Set([...tags].flatMap(broaderThan).filter((language) => !tags.has(language)));
  return ({ language = "" }, facts) => (broader.has(language) ? undefined : matches(facts));
}

/** Returns the more general tags of a language tag: `zh` and `zh-hant` for `zh-hant-tw`. */
function broaderThan(tag: string): string[] {
  const subtags = tag.split("-");
  return subtags.slice(1).map((_, i) => subtags.slice(0, i + 1).join("-"));
}

/** The facts of the current click. Conditions on facts that it lacks are never evaluated. */
const factsOf = (click: () => StoredClick): ReturnType<typeof rememberFacts> =>
  rememberFacts({
    now: () => click().at,
    address: () => "",
    location: () => ({ country: click().country ?? "ZZ", continent: click().continent ?? "" }),
    userAgent: () => "",
    agent: () => {
      const { browser = "", os = "", device = "other" } = click();
      return toAgentNames({ browser, os, device });
    },
    language: () => click().language ?? "",
    source: () => click().referrer ?? "",
    query: () => "",
  });
