/**
 * Limits for requests that consume nothing from an account's windows: reading the state of the
 * limits, and requests that are rejected because of their key. They are held in this process's
 * memory, by the whole key, so no one without the key can exhaust them.
 */
import { createLocalLimit } from "../limits/local-limit.ts";
import type { AccessRule } from "./access-rules.ts";
import type { Verdict } from "./sql.ts";

/**
 * Reads of the state of the limits per key: 17 a second take less than a twentieth of a core of
 * PostgreSQL, and a client that reads them after each of its calls may make more at once.
 */
const READINGS = { name: "limits", limit: 50, seconds: 3, keysMax: 50_000 };

/**
 * Rejected requests per key: more than the number of operations. The window is short, because an
 * operator may lift the reason for the rejection.
 */
const REFUSALS = { name: "refused", limit: 100, seconds: 10, keysMax: 50_000 };

const REJECTED_EVERYWHERE: ReadonlySet<Verdict> = new Set(["revoked", "expired", "barred"]);

/** Whether a verdict applies to every request of a key. */
export const isRejectedEverywhere = (verdict: Verdict): boolean => REJECTED_EVERYWHERE.has(verdict);

export type KeyLimits = {
  /**
   * Throws `rate_limited`, with the window in the headers, when the key `id` has exhausted the
   * limit for this rule.
   */
  enforce(id: string, rule: AccessRule, headers: Record<string, string | number>): void;
  /** Counts a verdict that rejects the key, or that lacks this rule's scope; ignores any other. */
  record(id: string, rule: AccessRule, verdict: Verdict): void;
};

export function createKeyLimits(): KeyLimits {
  const readings = createLocalLimit(READINGS);
  const rejections = createLocalLimit(REFUSALS);

  return {
    enforce(id, rule, headers) {
      const exhausted = [id, scopeKey(id, rule)].find(rejections.exhausted);
      if (exhausted !== undefined) rejections.enforce(exhausted, headers);
      if (rule.cost === 0) readings.enforce(id, headers);
    },
    record(id, rule, verdict) {
      if (isRejectedEverywhere(verdict)) rejections.consume(id);
      // A key that lacks one scope may use its other scopes.
      if (verdict === "forbidden") rejections.consume(scopeKey(id, rule));
    },
  };
}

const scopeKey = (id: string, rule: AccessRule): string => `${id} ${rule.scope}`;
