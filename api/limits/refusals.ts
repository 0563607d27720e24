/**
 * Refusals this process has just passed on. A client that hammers against its limit is answered from
 * here, without a query, for a second at a time; then the database is asked again, which also tells
 * whether the key has been revoked or the plan changed meanwhile.
 */
import { LRUCache } from "lru-cache";

import type { AccessRule, KnownVerdict } from "../auth/authorize.ts";
import { refusing } from "./windows.ts";

/** For how long a refusal is repeated without asking. */
const REPEAT_MS = 1_000;
const KEYS_MAX = 50_000;

/** Windows of the plan, which refuse a key on every endpoint. */
const PLAN_WINDOWS = new Set(["burst", "minute", "day"]);

type Refusal = { verdict: KnownVerdict; until: number; clockAhead: number };

export type Refusals = {
  /** The refusal to repeat for this key and rule, its clock brought up to now. */
  find(lookup: string, rule: AccessRule): KnownVerdict | undefined;
  /** Remembers a refusal; anything else is passed over. */
  note(lookup: string, rule: AccessRule, verdict: KnownVerdict): void;
  /** How many refusals of the key were repeated since this was last asked. */
  take(lookup: string): number;
};

/** Creates the memory; `now` gives Unix milliseconds. */
export function createRefusals(now: () => number = Date.now): Refusals {
  const refusals = new LRUCache<string, Refusal>({ max: KEYS_MAX });
  const repeated = new LRUCache<string, number>({ max: KEYS_MAX });

  return {
    find(lookup, rule) {
      if (rule.cost === 0) return undefined;
      const known = [lookup, keyOf(lookup, rule)]
        .map((key) => refusals.get(key))
        .find((refusal) => refusal !== undefined && refusal.until > now());
      if (known === undefined) return undefined;
      const { verdict, clockAhead } = known;
      // Whoever lacks the scope is told that, as the database would.
      if (rule.scope !== null && !verdict.principal.scopes.includes(rule.scope)) return undefined;
      repeated.set(lookup, (repeated.get(lookup) ?? 0) + 1);
      return { ...verdict, now: now() + clockAhead };
    },
    note(lookup, rule, verdict) {
      const ends = endOf(verdict);
      if (ends === undefined) return;
      const window = verdict.verdict === "limited" ? refusing(verdict.windows) : undefined;
      const everywhere = window === undefined || PLAN_WINDOWS.has(window.name);
      refusals.set(everywhere ? lookup : keyOf(lookup, rule), {
        verdict,
        until: now() + Math.min(REPEAT_MS, ends - verdict.now),
        clockAhead: verdict.now - now(),
      });
    },
    take(lookup) {
      const count = repeated.get(lookup) ?? 0;
      repeated.delete(lookup);
      return count;
    },
  };
}

const keyOf = (lookup: string, rule: AccessRule): string => `${lookup} ${rule.limit}`;

/** The instant, by the database's clock, at which a refusal ends; undefined when it is none. */
function endOf(verdict: KnownVerdict): number | undefined {
  if (verdict.verdict === "suspended") return verdict.suspendedUntil ?? undefined;
  return verdict.verdict === "limited" ? refusing(verdict.windows)?.resetsAt : undefined;
}
