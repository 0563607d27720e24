/**
 * Coalesces the authorization of requests. Requests of one key under one rule that arrive while a
 * query for it is in flight are authorized together by the next query. So a busy key's row is not
 * contended, and each request is decided by a query that began after the request arrived. One query
 * also covers many keys, with one commit for all of them.
 */
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";
import type { AuthorizationResult, BatchResult } from "./authorize.ts";
import type { RequestGroup } from "./sql.ts";

/** Maximum requests of a key and rule in one query. */
const REQUESTS_MAX = 100;

/** Maximum keys in one query. */
const KEYS_MAX = 32;

/**
 * A query that takes longer is late: it waits for an account's row lock. A late query no longer
 * blocks the next one, so it does not delay other accounts' keys. Until then the next query waits
 * and collects more keys.
 */
const LATE_MS = 10;

/** Maximum queries in flight, of which all but one are late. */
const QUERIES_MAX = 6;

/**
 * Authorizes requests of several keys in one query; the result of a key that does not exist is
 * undefined.
 */
export type AuthorizeAll = (
  groups: readonly (Omit<RequestGroup, "rejected"> & { id: string })[],
) => Promise<readonly (BatchResult | undefined)[]>;

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

/** The requests of a key under a rule that wait for the next query. */
type Queue = {
  name: string;
  id: string;
  key: KeyParts;
  rule: AccessRule;
  waiters: Waiter[];
  inFlight: boolean;
};

export function createAuthorizer(authorizeAll: AuthorizeAll): Authorize {
  /** By key and rule; contains those with waiting requests or requests in flight. */
  const queues = new Map<string, Queue>();
  /** Queues that have waiting requests and no query in flight, longest wait first. */
  const ready = new Set<Queue>();
  /** Number of queries in flight, and how many of them are late. */
  let queries = 0;
  let late = 0;

  function start(): void {
    if (queries > late || queries >= QUERIES_MAX || ready.size === 0) return;
    const next = [...ready].slice(0, KEYS_MAX);
    for (const queue of next) ready.delete(queue);
    queries++;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      late++;
      start();
    }, LATE_MS);
    void run(next).finally(() => {
      clearTimeout(timer);
      queries--;
      if (isLate) late--;
      start();
    });
  }

  async function run(next: readonly Queue[]): Promise<void> {
    const groups = next.map((queue) => ({ queue, waiters: take(queue) }));
    try {
      const results = await authorizeAll(
        groups.map(({ queue: { id, key, rule }, waiters }) => ({
          id,
          key,
          rule,
          cost: waiters.length * rule.cost,
        })),
      );
      groups.forEach(({ queue, waiters }, group) => {
        const batch = results[group];
        waiters.forEach(({ resolve }, i) => resolve(batch && toResult(batch, i, queue.rule)));
      });
    } catch (error) {
      for (const { waiters } of groups) for (const { reject } of waiters) reject(error);
    }
    for (const queue of next) {
      queue.inFlight = false;
      if (queue.waiters.length > 0) ready.add(queue);
      else queues.delete(queue.name);
    }
  }

  return (id, key, rule) => {
    const name = `${id} ${rule.scope} ${rule.limit} ${rule.cost}`;
    return new Promise((resolve, reject) => {
      const queue = queues.get(name) ?? { name, id, key, rule, waiters: [], inFlight: false };
      queues.set(name, queue);
      queue.waiters.push({ resolve, reject });
      if (queue.inFlight) return;
      ready.add(queue);
      start();
    });
  };
}

function take(queue: Queue): Waiter[] {
  queue.inFlight = true;
  return queue.waiters.splice(0, REQUESTS_MAX);
}

/** The result for request number `i` (from 0) of a batch. */
function toResult(
  { granted, ...result }: BatchResult,
  i: number,
  rule: AccessRule,
): AuthorizationResult {
  if (result.verdict !== "ok" || rule.cost === 0) return result;
  if (i >= granted) return { ...result, verdict: "limited" };
  // The windows count the whole batch; add back the requests after this one.
  const later = granted - 1 - i;
  const windows = result.windows.map((window) => ({ ...window, used: window.used - later }));
  return { ...result, windows };
}
