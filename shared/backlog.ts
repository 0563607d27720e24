/**
 * Decides whether an event loop is behind: each turn has taken long for a while, so that whatever
 * arrives waits. One long turn, e.g. a collection of garbage, does not count: as in CoDel (RFC 8289
 * §3.1), a queue is bad when its least delay of some time is too long, not its longest.
 */

/** A turn that takes this long delays others: the longest acceptable stall. */
const LATE_MS = 50;

/** For how long every turn must have taken so long. */
const STANDING_MS = 500;

export type Backlog = {
  /** Adds how long the event loop was stalled before its timer ran, at `nowMs`. */
  add(stallMs: number, nowMs: number): void;
  isBehind(): boolean;
};

export function createBacklog(): Backlog {
  /**
   * When the first of the turns ended that have all been late; undefined after one that was not.
   */
  let since: number | undefined;
  let behind = false;
  return {
    add(stallMs, nowMs) {
      since = stallMs < LATE_MS ? undefined : (since ?? nowMs);
      behind = since !== undefined && nowMs - since >= STANDING_MS;
    },
    isBehind: () => behind,
  };
}
