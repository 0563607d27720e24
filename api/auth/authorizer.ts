/**
 * Coalesces the authorization of requests: one query in flight per key and rule; requests that arrive meanwhile are
 * authorized together by the next query. However busy a key is, its row is not contended, and each
 * request is decided by a query that began after the request arrived.
 */
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";
import type { AuthorizationResult, BatchResult } from "./authorize.ts";

/** The most requests in one query. */
const BATCH_MAX = 100;

/** Authorizes `wanted` requests in one query; returns undefined when the key does not exist. */
export type AuthorizeBatch = (
  id: string,
  key: KeyParts,
  rule: AccessRule,
  wanted: number,
) => Promise<BatchResult | undefined>;

/** Authorizes one request; `id` identifies the whole key, its secret included. */
export type Authorize = (
  id: string,
  key: KeyParts,
  rule: AccessRule,
) => Promise<AuthorizationResult | undefined>;

type Waiter = {
  resolve: (result: AuthorizationResult | undefined) => void;
  reject: (error: unknown) => void;
};

export function createAuthorizer(authorizeBatch: AuthorizeBatch): Authorize {
  /** Requests that wait for the next query, by key and rule; an entry means that a query is in flight. */
  const queues = new Map<string, Waiter[]>();

  async function drain(queue: string, id: string, key: KeyParts, rule: AccessRule): Promise<void> {
    for (;;) {
      const waiters = queues.get(queue)?.splice(0, BATCH_MAX) ?? [];
      if (waiters.length === 0) break;
      try {
        const batch = await authorizeBatch(id, key, rule, waiters.length * rule.cost);
        waiters.forEach(({ resolve }, i) => resolve(batch && toResult(batch, i, rule)));
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    queues.delete(queue);
  }

  return (id, key, rule) => {
    const queue = `${id} ${rule.scope} ${rule.limit} ${rule.cost}`;
    return new Promise((resolve, reject) => {
      const waiters = queues.get(queue);
      if (waiters !== undefined) {
        waiters.push({ resolve, reject });
        return;
      }
      queues.set(queue, [{ resolve, reject }]);
      void drain(queue, id, key, rule);
    });
  };
}

/** The result for request number `i` (from 0) of a batch. */
function toResult(
  { granted, ...result }: BatchResult,
  i: number,
  rule: AccessRule,
): AuthorizationResult {
  if (result.verdict !== "ok" || rule.cost === 0) return result;
  if (i >= granted) return { ...result, verdict: "limited" };
  // The windows count the whole batch: without the requests behind this one.
  const later = granted - 1 - i;
  const windows = result.windows.map((window) => ({ ...window, used: window.used - later }));
  return { ...result, windows };
}
