/**
 * Limits of what consumes nothing from an account's windows: reading the state of the limits, and requests that are
 * refused for their key. They are held in this process's memory, by the whole key: nobody else can use them up.
 */
import { createLocalLimit } from "../limits/local-limit.ts";
import type { AccessRule } from "./access-rules.ts";
import type { Verdict } from "./sql.ts";

/** Readings of the state of the limits by one key: far more than a program that watches it makes. */
const READINGS = { name: "limits", limit: 50, seconds: 1, keysMax: 50_000 };

/**
 * Refused requests of one key: more than one for each operation there is. The window is short, because an operator may
 * lift what the key is refused for.
 */
const REFUSALS = { name: "refused", limit: 100, seconds: 10, keysMax: 50_000 };

/** Verdicts that hold for every request of a key. */
const REFUSED_EVERYWHERE: ReadonlySet<Verdict> = new Set(["revoked", "expired", "barred"]);

export type KeyLimits = {
  /** Throws `rate_limited`, and describes the window in the headers, when the key `id` has nothing left for this rule. */
  enforce(id: string, rule: AccessRule, headers: Record<string, string | number>): void;
  /** Counts a verdict that refuses the key, or refuses it this rule's scope; ignores any other. */
  record(id: string, rule: AccessRule, verdict: Verdict): void;
};

export function createKeyLimits(): KeyLimits {
  const readings = createLocalLimit(READINGS);
  const refusals = createLocalLimit(REFUSALS);

  return {
    enforce(id, rule, headers) {
      const refused = [id, scopeKey(id, rule)].find(refusals.exhausted);
      if (refused !== undefined) refusals.enforce(refused, headers);
      if (rule.cost === 0) readings.enforce(id, headers);
    },
    record(id, rule, verdict) {
      if (REFUSED_EVERYWHERE.has(verdict)) refusals.consume(id);
      // A key that lacks one scope may use its others.
      if (verdict === "forbidden") refusals.consume(scopeKey(id, rule));
    },
  };
}

const scopeKey = (id: string, rule: AccessRule): string => `${id} ${rule.scope}`;
