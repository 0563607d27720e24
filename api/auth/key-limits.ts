/**
 * Limits for requests that consume nothing from an account's windows: reading the state of the
 * limits, and requests that are rejected because of their key. They are held in this process's
 * memory, by the whole key, so no one without the key can exhaust them.
 */
import { KeyWindow } from "../limits/windows.ts";
import type { AccessRule } from "./access-rules.ts";
import type { Verdict } from "./sql.ts";

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
  const readings = new KeyWindow("limits_readings");
  const rejections = new KeyWindow("refused_requests");

  return {
    enforce(id, rule, headers) {
      const exhausted = [id, scopeKey(id, rule)].find((key) => rejections.exhausted(key));
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
