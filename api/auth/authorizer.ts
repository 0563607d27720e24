/**
 * Authorizes requests of API keys in PostgreSQL, in as few queries as possible.
 *
 * Requests of one key under one rule that arrive while a query for it is in flight are authorized
 * together by the next query. So a busy key's row is not contended, and each request is decided by
 * a query that began after the request arrived. One query also covers many keys, with one commit
 * for all of them. Refusals by a limit are repeated for a short while without a query.
 */
import { LRUCache } from "lru-cache";

import { findExhausted } from "../limits/windows.ts";
import type { AccessRule } from "./access-rules.ts";
import type { KeyParts } from "./api-key.ts";
import type { AuthorizationResult, BatchResult, RequestGroup } from "./sql.ts";

/** Maximum requests of a key and rule in one query. */
const REQUESTS_MAX = 100;

const KEYS_MAX = 32;

/**
 * A query that takes longer is late: it waits for an account's row lock. A late query no longer
 * blocks the next one, so it does not delay other accounts' keys. Until then the next query waits
 * and collects more keys.
 */
const LATE_MS = 10;

/** Maximum queries in flight: one that is not late, and those that are. */
const QUERIES_MAX = 6;

/** Where keys are: in PostgreSQL. The result of a key that does not exist is undefined. */
export interface KeyStore {
  authorize(requests: readonly RequestGroup[]): Promise<readonly (BatchResult | undefined)[]>;
}

type Waiter = {
  network: string | null;
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

export class Authorizer {
  readonly #store: KeyStore;
  readonly #refusals = new Refusals();
  /** By key and rule; contains those with waiting requests or requests in flight. */
  readonly #queues = new Map<string, Queue>();
  /** Queues that have waiting requests and no query in flight, longest wait first. */
  readonly #ready = new Set<Queue>();
  #queries = 0;
  #late = 0;

  constructor(store: KeyStore) {
    this.#store = store;
  }

  /**
   * Authorizes one request; `id` identifies the whole key, its secret included, and `network` where
   * it is used. Undefined for a key that does not exist.
   */
  async authorize(
    id: string,
    key: KeyParts,
    rule: AccessRule,
    network: string | null,
  ): Promise<AuthorizationResult | undefined> {
    const refusal = this.#refusals.get(id, rule);
    if (refusal !== undefined) return refusal;
    const result = await this.#enqueue({ id, key, rule }, network);
    if (result !== undefined) this.#refusals.record(id, rule, result);
    return result;
  }

  #enqueue(
    { id, key, rule }: { id: string; key: KeyParts; rule: AccessRule },
    network: string | null,
  ): Promise<AuthorizationResult | undefined> {
    const name = `${id} ${rule.scope} ${rule.endpoint} ${rule.cost}`;
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(name) ?? {
        name,
        id,
        key,
        rule,
        waiters: [],
        inFlight: false,
      };
      this.#queues.set(name, queue);
      queue.waiters.push({ resolve, reject, network });
      if (queue.inFlight) return;
      this.#ready.add(queue);
      this.#startQuery();
    });
  }

  #startQuery(): void {
    if (this.#queries > this.#late || this.#queries >= QUERIES_MAX || this.#ready.size === 0)
      return;
    const next = [...this.#ready].slice(0, KEYS_MAX);
    for (const queue of next) this.#ready.delete(queue);
    this.#queries++;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#late++;
      this.#startQuery();
    }, LATE_MS);
    void this.#query(next).finally(() => {
      clearTimeout(timer);
      this.#queries--;
      if (isLate) this.#late--;
      this.#startQuery();
    });
  }

  async #query(next: readonly Queue[]): Promise<void> {
    const groups = next.map((queue) => ({ queue, waiters: takeWaiters(queue) }));
    try {
      const results = await this.#store.authorize(
        groups.map(({ queue: { id, key, rule }, waiters }) => ({
          key,
          rule,
          wanted: waiters.length * rule.cost,
          refused: this.#refusals.drain(id),
          network: waiters.at(-1)?.network ?? null,
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
      if (queue.waiters.length > 0) this.#ready.add(queue);
      else this.#queues.delete(queue.name);
    }
  }
}

function takeWaiters(queue: Queue): Waiter[] {
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
  const windows = result.windows.map((window) => ({ ...window, spent: window.spent - later }));
  return { ...result, windows };
}

/** How long a refusal is repeated: so soon a revoked key or another plan is noticed. */
const REPEATED_MS = 1_000;

/** Keys remembered, and for each how many of its requests were refused without a query. */
const REFUSED_KEYS_MAX = 50_000;

/** The plan's windows, which refuse a key on every endpoint. */
const PLAN_WINDOWS = new Set(["burst", "minute", "day"]);

type Refusal = { result: AuthorizationResult; until: number; clockAhead: number };

/**
 * Recent refusals by a rate limit or of a throttled account. A client beyond its limit gets the
 * same refusal again, without a query; the next query says how often that was.
 */
class Refusals {
  readonly #refusals = new LRUCache<string, Refusal>({ max: REFUSED_KEYS_MAX });
  readonly #counts = new LRUCache<string, number>({ max: REFUSED_KEYS_MAX });

  /** The refusal for this key and rule, with the current time; undefined when there is none. */
  get(id: string, rule: AccessRule): AuthorizationResult | undefined {
    if (rule.cost === 0) return undefined;
    const refusal = this.#current(id) ?? this.#current(endpointKey(id, rule));
    if (refusal === undefined) return undefined;
    const { result, clockAhead } = refusal;
    // A missing scope takes precedence, as in the database.
    if (rule.scope !== null && !result.principal.scopes.includes(rule.scope)) return undefined;
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    return { ...result, now: Date.now() + clockAhead };
  }

  /** Keeps a refusal by a rate limit or of a throttled account; ignores any other result. */
  record(id: string, rule: AccessRule, result: AuthorizationResult): void {
    const end = endOfRefusal(result);
    if (end === undefined) return;
    const window = result.verdict === "limited" ? findExhausted(result.windows) : undefined;
    const everywhere = window === undefined || PLAN_WINDOWS.has(window.name);
    this.#refusals.set(everywhere ? id : endpointKey(id, rule), {
      result,
      until: Date.now() + Math.min(REPEATED_MS, end - result.now),
      clockAhead: result.now - Date.now(),
    });
  }

  /** How many requests of the key have been refused here since the last call. */
  drain(id: string): number {
    const count = this.#counts.get(id) ?? 0;
    // Not deleted: lru-cache clears its arrays, of all its keys, when its last entry is deleted.
    if (count > 0) this.#counts.set(id, 0);
    return count;
  }

  #current(key: string): Refusal | undefined {
    const refusal = this.#refusals.get(key);
    return refusal !== undefined && refusal.until > Date.now() ? refusal : undefined;
  }
}

const endpointKey = (id: string, rule: AccessRule): string => `${id} ${rule.endpoint}`;

/** When a refusal ends, by the database's clock; undefined for a result that is not kept. */
function endOfRefusal(result: AuthorizationResult): number | undefined {
  if (result.verdict === "throttled") return result.throttledUntil ?? undefined;
  return result.verdict === "limited" ? findExhausted(result.windows)?.resetsAt : undefined;
}
