/**
 * The deliveries of one webhook that wait, and those in flight. Deliveries with the same order key
 * are made one after another: while the first of them waits for another attempt, the others wait
 * for it. Times are those of `performance.now()`, which no change of the clock affects.
 */
import type { Uuid } from "../../shared/ids.ts";

/** Most deliveries of a webhook that wait; later events have none yet. */
export const PENDING_MAX = 1_000;

export type Pending = {
  id: Uuid;
  eventId: Uuid;
  /** Deliveries are made in this order. */
  position: number;
  /** Null for a delivery that waits for no other. */
  orderKey: Uuid | null;
  /** Of clicks of many links: those that the webhook gets; null for all. */
  linkIds: readonly Uuid[] | null;
  attempts: number;
  dueAt: number;
};

export function createQueue() {
  const rows: Pending[] = [];
  const inFlight = new Set<Uuid>();

  /** The deliveries that wait for no earlier one, in order. */
  function* heads(): Iterable<Pending> {
    const behind = new Set<Uuid>();
    for (const row of rows) {
      if (row.orderKey !== null) {
        if (behind.has(row.orderKey)) continue;
        behind.add(row.orderKey);
      }
      if (!inFlight.has(row.id)) yield row;
    }
  }

  return {
    size: (): number => rows.length,
    inFlight: (): number => inFlight.size,

    /** Adds deliveries; of one that is there and waits, takes an earlier time. */
    add(added: readonly Pending[]): void {
      const known = new Map(rows.map((row) => [row.id, row]));
      for (const row of added) {
        const found = known.get(row.id);
        if (found === undefined) rows.push(row);
        else if (!inFlight.has(row.id)) found.dueAt = Math.min(found.dueAt, row.dueAt);
      }
      rows.sort((a, b) => a.position - b.position);
    },

    /** Takes the first delivery that is due, and marks it as in flight; undefined without one. */
    take(now: number): Pending | undefined {
      for (const row of heads()) {
        if (row.dueAt > now) continue;
        inFlight.add(row.id);
        return row;
      }
      return undefined;
    },

    /** Undoes `take`: no attempt was made. */
    putBack: (row: Pending): void => void inFlight.delete(row.id),

    /** Ends an attempt: removes the delivery, or sets when it is due again. */
    finish(row: Pending, dueAt: number | undefined): void {
      inFlight.delete(row.id);
      row.attempts += 1;
      if (dueAt === undefined) rows.splice(rows.indexOf(row), 1);
      else row.dueAt = dueAt;
    },

    /** Makes everything that waits due. */
    makeDue(now: number): void {
      for (const row of rows) row.dueAt = Math.min(row.dueAt, now);
    },

    /** When the next delivery that can be made is due; undefined without one. */
    nextDueAt(): number | undefined {
      let first: number | undefined;
      for (const { dueAt } of heads()) first = Math.min(first ?? dueAt, dueAt);
      return first;
    },
  };
}
