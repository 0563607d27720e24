/** How many deliveries a worker makes at once, and which webhook is next. */
import type { Endpoint } from "./endpoint.ts";
import type { Pending } from "./queue.ts";

/** Most deliveries in flight, and of those to webhooks that fail or are slow, which take long. */
const IN_FLIGHT_MAX = 200;
const THROTTLED_IN_FLIGHT_MAX = 100;

/** A delivery that is made, and the slot that it takes. */
export type Pick = { endpoint: Endpoint; delivery: Pending; isThrottled: boolean };

export function createSlots() {
  let used = 0;
  let throttled = 0;
  let turn = 0;
  /** The last turn of each webhook; ascending. */
  const lastTurns = new WeakMap<Endpoint, number>();
  const turnOf = (endpoint: Endpoint): number => lastTurns.get(endpoint) ?? 0;

  /** Takes a delivery of a webhook, if one is due and a slot is free. */
  function takeOne(endpoint: Endpoint, now: number): Pick | undefined {
    const isThrottled = endpoint.isThrottled(now);
    if (used >= IN_FLIGHT_MAX || (isThrottled && throttled >= THROTTLED_IN_FLIGHT_MAX))
      return undefined;
    const delivery = endpoint.take(now);
    if (delivery === undefined) return undefined;
    used += 1;
    if (isThrottled) throttled += 1;
    return { endpoint, delivery, isThrottled };
  }

  return {
    used: (): number => used,

    /**
     * Takes deliveries of the webhooks in turn, beginning with the one of which none was taken for
     * the longest time, so that each gets its turn when slots are scarce.
     */
    take(endpoints: Iterable<Endpoint>): Pick[] {
      const picks: Pick[] = [];
      const now = performance.now();
      const turns = Array.from(endpoints).toSorted((a, b) => turnOf(a) - turnOf(b));
      let before = -1;
      while (before < picks.length) {
        before = picks.length;
        for (const endpoint of turns) {
          const pick = takeOne(endpoint, now);
          if (pick === undefined) continue;
          picks.push(pick);
          lastTurns.set(endpoint, ++turn);
        }
      }
      return picks;
    },

    free({ isThrottled }: Pick): void {
      used -= 1;
      if (isThrottled) throttled -= 1;
    },
  };
}
