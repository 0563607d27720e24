/** Conditions of rules, compiled to functions of a request's facts. */
import { LRUCache } from "lru-cache";

import { createAddressList } from "../address-list.ts";
import type { Condition } from "../contracts/redirect-settings.ts";
import type { RequestFacts } from "./facts.ts";
import { isLanguage } from "./language.ts";
import { localTime } from "./local-time.ts";

/**
 * Whether a condition matches, and the request's value that it tested; null when that is unknown.
 */
export type CompiledCondition = {
  matches(facts: RequestFacts): boolean;
  actual(facts: RequestFacts): string | null;
};

/**
 * Reads a value of the request, and tests it. An unknown value matches neither a condition nor its
 * inverse.
 */
function compile<Value>(
  not: boolean,
  read: (facts: RequestFacts) => Value | undefined,
  test: (value: Value) => boolean,
  show: (value: Value) => string = String,
): CompiledCondition {
  return {
    matches(facts) {
      const value = read(facts);
      return value !== undefined && test(value) !== not;
    },
    actual(facts) {
      const value = read(facts);
      return value === undefined ? null : show(value);
    },
  };
}

/**
 * Most memory of compiled conditions that links share, so that equal conditions of many links need
 * memory only once.
 */
const SHARED_BYTES_MAX = 8 * 1024 * 1024;

/** Most characters, as JSON, of a condition that links share. */
const SHARED_LENGTH_MAX = 256;

const CONDITION_BYTES = 1_000;
const VALUE_BYTES = 150;

const shared = new LRUCache<string, CompiledCondition>({ maxSize: SHARED_BYTES_MAX });

/** Compiles a condition. Throws for values that the API rejects. */
export function compileCondition(condition: Condition): CompiledCondition {
  const json = JSON.stringify(condition);
  if (json.length > SHARED_LENGTH_MAX) return compileNew(condition);
  const known = shared.get(json);
  if (known !== undefined) return known;
  const compiled = compileNew(condition);
  shared.set(json, compiled, { size: compiledBytes(condition) });
  return compiled;
}

/** Upper bound of the memory of a compiled condition with its values, in bytes, as measured. */
export const compiledBytes = (condition: Condition): number =>
  CONDITION_BYTES + VALUE_BYTES * ("in" in condition ? (condition.in?.length ?? 0) : 0);

function compileNew(condition: Condition): CompiledCondition {
  const not = condition.not === true;
  switch (condition.type) {
    case "query":
      return compileQuery(condition, not);
    case "time":
      return compileTime(condition, not);
    case "schedule":
      return compileSchedule(condition, not);
    case "ip": {
      const contains = createAddressList(
        condition.in,
        (entry) => new Error(`"${entry}" is neither an address nor a CIDR block`),
      );
      return compile(not, (facts) => facts.address() || undefined, contains);
    }
    case "language": {
      const tags = condition.in.map((tag) => tag.toLowerCase());
      return compile(
        not,
        (facts) => facts.language(),
        (language) => isLanguage(language, tags),
      );
    }
    case "device":
    case "os":
    case "browser":
      return compileAgent(condition.type, condition.in, not);
    default: {
      const values = new Set(condition.in);
      return compile(not, READERS[condition.type], (value) => values.has(value));
    }
  }
}

/** Conditions whose values have the same case as the facts: the API has converted them. */
const READERS: Record<
  "country" | "continent" | "referrer",
  (facts: RequestFacts) => string | undefined
> = {
  country: (facts) => facts.location()?.country,
  // A database without continents has "" for each.
  continent: (facts) => facts.location()?.continent || undefined,
  referrer: (facts) => facts.source(),
};

/** Names of browsers and systems are compared ignoring case, and shown as analytics names them. */
function compileAgent(
  name: "device" | "os" | "browser",
  listed: readonly string[],
  not: boolean,
): CompiledCondition {
  const values = new Set(listed.map((value) => value.toLowerCase()));
  return {
    matches(facts) {
      const agent = facts.agent();
      return agent !== undefined && values.has(agent.lower[name]) !== not;
    },
    actual: (facts) => facts.agent()?.names[name] ?? null,
  };
}

type Of<Type extends Condition["type"]> = Extract<Condition, { type: Type }>;

function compileQuery({ name, in: values }: Of<"query">, not: boolean): CompiledCondition {
  const allowed = values === undefined ? undefined : new Set(values);
  return compile(
    not,
    (facts) => facts.parameter(name),
    (found) => (allowed === undefined ? found.length > 0 : found.some((v) => allowed.has(v))),
    (found) => found.join(", "),
  );
}

function compileTime({ from, until }: Of<"time">, not: boolean): CompiledCondition {
  const start = from === undefined ? -Infinity : Date.parse(from);
  const end = until === undefined ? Infinity : Date.parse(until);
  return compile(
    not,
    (facts) => facts.now(),
    (now) => start <= now && now < end,
    (now) => new Date(now).toISOString(),
  );
}

function compileSchedule(
  { time_zone, days, from, to }: Of<"schedule">,
  not: boolean,
): CompiledCondition {
  const [start, end] = [minutesOf(from), minutesOf(to)];
  return compile(
    not,
    (facts) => localTime(facts.now(), time_zone),
    ({ weekday, minutes }) => {
      if (start <= end) return days.includes(weekday) && start <= minutes && minutes < end;
      return minutes >= start
        ? days.includes(weekday)
        : minutes < end && days.includes(dayBefore(weekday));
    },
    ({ weekday, minutes }) =>
      `${WEEKDAYS[weekday - 1]}, ${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`,
  );
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const dayBefore = (weekday: number): number => (weekday === 1 ? 7 : weekday - 1);

/** The minutes since midnight of a time `HH:MM`. */
const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
