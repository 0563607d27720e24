/** Removes links from the store that their stream no longer has, in parts between two pulls. */
import { TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import { isInStream, type LinksStream } from "../../shared/contracts/links-streams.ts";
import { shortLinkOfKey } from "../../shared/contracts/short-link.ts";
import type { StoreWriter } from "./store-writer.ts";

/** Maximum rows that one transaction checks for links that the stream no longer has. */
const SWEPT_ROWS = 5_000;

/** Maximum time of the check before the next pull. */
const SWEEP_MS = 200;

export function createSweep(store: Pick<StoreWriter, "sweep">, stream: LinksStream) {
  /**
   * The number of the row after which the check continues; undefined when there is nothing to
   * check.
   */
  let sweptTo: number | undefined;

  /**
   * Links of other streams stay. The list of takedowns stays too: a feed without it has lost it.
   */
  const isKept = (key: string): boolean =>
    key === `/${TAKEDOWNS_ALIAS}` || !isInStream(stream, shortLinkOfKey(key));

  return {
    /**
     * The store has all of the stream: start removing everything older than its epoch, from the
     * first row.
     */
    begin: (): void => void (sweptTo ??= 0),
    cancel: (): void => void (sweptTo = undefined),
    /** Removes some or all records older than the epoch; returns whether the check has finished. */
    run(epoch: number): boolean {
      if (sweptTo === undefined) return false;
      const deadline = performance.now() + SWEEP_MS;
      while (sweptTo !== undefined && performance.now() < deadline)
        sweptTo = store.sweep(epoch, sweptTo, SWEPT_ROWS, isKept).next;
      return sweptTo === undefined;
    },
  };
}
