/** Removes from the store the links of a stream that the stream does not have any more, part by part between two pulls. */
import { TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import { isInStream, type LinksStream } from "../../shared/contracts/links-streams.ts";
import { linkOfKey } from "../../shared/links-store/record.ts";
import type { StoreWriter } from "./store-writer.ts";

/** Rows that one transaction looks at for links that the stream does not have any more. */
const SWEPT_ROWS = 5_000;

/** How long they are looked for before the next pull. */
const SWEEP_MS = 200;

export function createSweep(store: Pick<StoreWriter, "sweep">, stream: LinksStream) {
  /** The key behind which is looked on; undefined when nothing is to be removed. */
  let sweptTo: string | undefined;

  /** Links of other streams stay. A feed that has no list of takedowns any more does not lift them: it was lost. */
  const isKept = (key: string): boolean =>
    key === `/${TAKEDOWNS_ALIAS}` || !isInStream(stream, linkOfKey(key));

  return {
    /** The store has all of the stream: what is older than its epoch is to be removed, from the first row on. */
    begin: (): void => void (sweptTo ??= ""),
    cancel: (): void => void (sweptTo = undefined),
    /** Removes what is older than the epoch, or some of it; returns whether that was the last. */
    run(epoch: number): boolean {
      if (sweptTo === undefined) return false;
      const deadline = performance.now() + SWEEP_MS;
      while (sweptTo !== undefined && performance.now() < deadline)
        sweptTo = store.sweep(epoch, sweptTo, SWEPT_ROWS, isKept).next;
      return sweptTo === undefined;
    },
  };
}
