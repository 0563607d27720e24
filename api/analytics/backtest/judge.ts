/**
 * Judges stored clicks by rules, with the redirector's own conditions. A click does not have all that a request had: where
 * a condition needs more, it is not known whether it matches.
 */
import type { Condition, Rule } from "../../../shared/contracts/link-extras.ts";
import { compileCondition } from "../../../shared/decision/conditions.ts";
import { rememberFacts, type RequestFacts, toAgentNames } from "../../../shared/decision/facts.ts";
import type { Agent } from "../../../shared/visitors/user-agent.ts";

/** Columns of clicks that conditions look at. */
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

/** The column that a condition looks at; null for none. */
export const columnOf = ({ type }: Pick<Condition, "type">): keyof ClickColumns | null =>
  type === "ip" || type === "query" || type === "time" || type === "schedule" ? null : type;

/** A stored click, of which only the columns that rules look at are known; `at` in Unix milliseconds. */
export type StoredClick = Partial<ClickColumns> & { at: number };

/** The place of a rule in the list, and whether it is known that it decides. */
export type Verdict = { rule: number; isCertain: boolean };

/** true, false, or undefined when a click does not say. */
type Judgement = boolean | undefined;

/**
 * Returns a function for the rule that decides a click, or that may: then nobody knows which of those after it does.
 * undefined for no rule.
 */
export function compileJudge(
  rules: readonly Pick<Rule, "conditions">[],
): (click: StoredClick) => Verdict | undefined {
  const compiled = rules.map(({ conditions }) => conditions.map(compileJudgement));
  let current: StoredClick;
  const { facts, forget } = factsOf(() => current);
  return (click) => {
    current = click;
    forget();
    for (const [rule, conditions] of compiled.entries()) {
      const judgement = judgeAll(conditions, click, facts);
      if (judgement !== false) return { rule, isCertain: judgement === true };
    }
    return undefined;
  };
}

type JudgeCondition = (click: StoredClick, facts: RequestFacts) => Judgement;

/** One condition that does not match is enough, whatever is not known of the others. */
function judgeAll(
  conditions: readonly JudgeCondition[],
  click: StoredClick,
  facts: RequestFacts,
): Judgement {
  let isCertain = true;
  for (const judge of conditions) {
    const judgement = judge(click, facts);
    if (judgement === false) return false;
    isCertain &&= judgement === true;
  }
  return isCertain ? true : undefined;
}

function compileJudgement(condition: Condition): JudgeCondition {
  if (condition.type === "ip" || condition.type === "query") return () => undefined;
  const { matches } = compileCondition(condition);
  if (condition.type !== "language") return (_, facts) => matches(facts);
  const tags = new Set(condition.in.map((tag) => tag.toLowerCase()));
  // `de` is stored for `de-AT` as well: a condition on that may have matched.
  const broader = new Set([...tags].flatMap(broaderThan).filter((language) => !tags.has(language)));
  return ({ language = "" }, facts) => (broader.has(language) ? undefined : matches(facts));
}

/** The languages that a tag is more specific than: `zh` and `zh-hant` for `zh-hant-tw`. */
function broaderThan(tag: string): string[] {
  const subtags = tag.split("-");
  return subtags.slice(1).map((_, i) => subtags.slice(0, i + 1).join("-"));
}

/** The facts of the click at hand. Conditions on what it lacks never ask. */
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
