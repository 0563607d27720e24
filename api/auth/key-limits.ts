/**
 * Limits for requests that consume nothing from an account's windows: reading the state of the
 * limits, and requests that are rejected because of their key. They are held in this process's
 * memory. A key is known by the whole of it, so no one without the key can exhaust them; what works
 * counts for its account, which can make any number of keys.
 */
import { LRUCache } from "lru-cache";

import type { Uuid } from "../../shared/ids.ts";
import { KeyWindow } from "../limits/windows.ts";
import type { AccessRule } from "./access-rules.ts";
import type { Verdict } from "./sql.ts";

const REJECTED_EVERYWHERE: ReadonlySet<Verdict> = new Set(["revoked", "expired", "barred"]);

/** Whether a verdict applies to every request of a key. */
export const isRejectedEverywhere = (verdict: Verdict): boolean => REJECTED_EVERYWHERE.has(verdict);

/** Keys remembered with their account, and scopes that keys lack. */
const REMEMBERED_MAX = 50_000;

export class KeyLimits {
  readonly #readings = new KeyWindow("limits_readings");
  readonly #rejections = new KeyWindow("refused_requests");
  readonly #accounts = new LRUCache<string, Uuid>({ max: REMEMBERED_MAX });
  readonly #lacking = new LRUCache<string, true>({ max: REMEMBERED_MAX });

  /**
   * Throws `rate_limited`, with the window in the headers, when the limit for this rule is
   * exhausted for the key `id` or its account.
   */
  enforce(id: string, rule: AccessRule, headers: Record<string, string | number>): void {
    const account = this.#accounts.get(id) ?? id;
    if (this.#rejections.exhausted(id)) this.#rejections.enforce(id, headers);
    // A key that lacks one scope may use its other scopes, and so may other keys of the account.
    const lacksScope = this.#lacking.has(scopeKey(id, rule));
    if (lacksScope && this.#rejections.exhausted(account))
      this.#rejections.enforce(account, headers);
    if (rule.cost === 0) this.#readings.enforce(account, headers);
  }

  /** Counts a verdict that rejects the key, or that lacks this rule's scope; ignores any other. */
  record(
    id: string,
    rule: AccessRule,
    { verdict, account }: { verdict: Verdict; account: Uuid },
  ): void {
    // The first reading of a key has been counted for the key.
    if (rule.cost === 0 && !this.#accounts.has(id)) this.#readings.consume(account);
    this.#accounts.set(id, account);
    if (isRejectedEverywhere(verdict)) this.#rejections.consume(id);
    if (verdict !== "forbidden") return;
    this.#lacking.set(scopeKey(id, rule), true);
    this.#rejections.consume(account);
  }
}

const scopeKey = (id: string, rule: AccessRule): string => `${id} ${rule.scope}`;
