/**
 * A cache of recent rejections. A client beyond its limit gets the cached rejection, without a
 * query, for at most a second. Then the database is queried again, which also detects a revoked key
 * or a changed plan.
 */
import { LRUCache } from "lru-cache";

import { exhausted } from "../http/rate-limit.ts";
import type { AccessRule } from "./access-rules.ts";
import type { AuthorizationResult } from "./authorize.ts";

/** How long a rejection is cached. */
const CACHED_MS = 1_000;
const KEYS_MAX = 50_000;

/** The plan's windows, which reject a key on every endpoint. */
const PLAN_WINDOWS = new Set(["burst", "minute", "day"]);

type Rejection = { result: AuthorizationResult; until: number; clockAhead: number };

export type RejectionCache = {
  /**
   * The cached rejection for this key and rule, with the current time; undefined when there is
   * none.
   */
  get(id: string, rule: AccessRule): AuthorizationResult | undefined;
  /** Caches a rejection by a rate limit or a suspension; ignores any other result. */
  record(id: string, rule: AccessRule, result: AuthorizationResult): void;
  /** Returns how often the cache has rejected the key since the last call, and resets the count. */
  drain(id: string): number;
};

/** `now` returns Unix milliseconds. */
export function createRejectionCache(now: () => number = Date.now): RejectionCache {
  const rejections = new LRUCache<string, Rejection>({ max: KEYS_MAX });
  const counts = new LRUCache<string, number>({ max: KEYS_MAX });

  return {
    get(id, rule) {
      if (rule.cost === 0) return undefined;
      const cached = [id, endpointKey(id, rule)]
        .map((key) => rejections.get(key))
        .find((rejection) => rejection !== undefined && rejection.until > now());
      if (cached === undefined) return undefined;
      const { result, clockAhead } = cached;
      // A missing scope takes precedence, as in the database.
      if (rule.scope !== null && !result.principal.scopes.includes(rule.scope)) return undefined;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      return { ...result, now: now() + clockAhead };
    },
    record(id, rule, result) {
      const end = endOfRejection(result);
      if (end === undefined) return;
      const window = result.verdict === "limited" ? exhausted(result.windows) : undefined;
      const everywhere = window === undefined || PLAN_WINDOWS.has(window.name);
      rejections.set(everywhere ? id : endpointKey(id, rule), {
        result,
        until: now() + Math.min(CACHED_MS, end - result.now),
        clockAhead: result.now - now(),
      });
    },
    drain(id) {
      const count = counts.get(id) ?? 0;
      // Not deleted: lru-cache clears its arrays, of KEYS_MAX elements, when its last entry is
      // deleted.
      if (count > 0) counts.set(id, 0);
      return count;
    },
  };
}

const endpointKey = (id: string, rule: AccessRule): string => `${id} ${rule.limit}`;

/** When a rejection ends, by the database's clock; undefined for a result that is not cached. */
function endOfRejection(result: AuthorizationResult): number | undefined {
  if (result.verdict === "suspended") return result.suspendedUntil ?? undefined;
  return result.verdict === "limited" ? exhausted(result.windows)?.resetsAt : undefined;
}
