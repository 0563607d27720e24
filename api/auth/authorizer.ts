/**
 * Asks about a key once at a time: requests of one key under one rule that come in while PostgreSQL is
 * being asked wait, and are then asked about together. However busy a key is, its row is not fought
 * over, and each request is still judged by a question that was asked after it came in.
 */
import type { KeyParts } from "./api-key.ts";
import type { AccessRule, KnownVerdict, Ruling } from "./authorize.ts";

/** Requests in one question. */
const TOGETHER_MAX = 100;

/** Puts one question about so many requests; undefined when there is no such key. */
export type Ask = (
  id: string,
  key: KeyParts,
  rule: AccessRule,
  wanted: number,
) => Promise<Ruling | undefined>;

/** Judges one request; `id` stands for the whole key. */
export type Authorize = (
  id: string,
  key: KeyParts,
  rule: AccessRule,
) => Promise<KnownVerdict | undefined>;

type Waiter = {
  resolve: (verdict: KnownVerdict | undefined) => void;
  reject: (error: unknown) => void;
};

export function createAuthorizer(ask: Ask): Authorize {
  /** Whoever waits, by key and rule; an entry means that a question is being asked. */
  const waiting = new Map<string, Waiter[]>();

  async function run(queue: string, id: string, key: KeyParts, rule: AccessRule): Promise<void> {
    for (;;) {
      const waiters = waiting.get(queue)?.splice(0, TOGETHER_MAX) ?? [];
      if (waiters.length === 0) break;
      try {
        const ruling = await ask(id, key, rule, waiters.length * rule.cost);
        waiters.forEach(({ resolve }, i) => resolve(ruling && verdictOf(ruling, i, rule)));
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    waiting.delete(queue);
  }

  return (id, key, rule) => {
    const queue = `${id} ${rule.scope} ${rule.limit} ${rule.cost}`;
    return new Promise((resolve, reject) => {
      const waiters = waiting.get(queue);
      if (waiters !== undefined) {
        waiters.push({ resolve, reject });
        return;
      }
      waiting.set(queue, [{ resolve, reject }]);
      void run(queue, id, key, rule);
    });
  };
}

/** What the ruling means for the request that came in as number `i` (from 0) of those asked about. */
function verdictOf({ granted, ...ruling }: Ruling, i: number, rule: AccessRule): KnownVerdict {
  if (ruling.verdict !== "ok" || rule.cost === 0) return ruling;
  if (i >= granted) return { ...ruling, verdict: "limited" };
  // Those behind it in the queue had not spent theirs yet.
  const later = granted - 1 - i;
  const windows = ruling.windows.map((window) => ({ ...window, spent: window.spent - later }));
  return { ...ruling, windows };
}
