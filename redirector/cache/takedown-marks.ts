/** Marks the cached links that takedowns cover, after the list of takedowns has changed. */
import { setImmediate } from "node:timers/promises";

import { readFacts, setTakenDown, sizeAt } from "../../shared/links-store/record.ts";
import type { LinkFacts } from "../../shared/takedowns/covers.ts";
import type { Blocks } from "./blocks.ts";

/**
 * Maximum time of marking per event loop turn. A block takes a few milliseconds where links have
 * many rules.
 */
const MARKING_MS = 5;

export function createTakedownMarks(
  { used }: Pick<Blocks, "used">,
  covers: (link: LinkFacts) => boolean,
) {
  /** Number of runs started, which identifies the current one, and whether it is in progress. */
  let markings = 0;
  let isMarking = false;

  function mark(bytes: Buffer, at: number): void {
    const facts = readFacts(bytes, at);
    if (facts !== undefined) setTakenDown(bytes, at, covers(facts));
  }

  return {
    /** Marks a copied record, because it may have moved past the position of the current run. */
    onCopied(bytes: Buffer, at: number): void {
      if (isMarking) mark(bytes, at);
    },
    /** Evaluates takedowns again for each link, in small parts between requests. */
    async markAgain(): Promise<void> {
      const marking = ++markings;
      isMarking = true;
      let turnEnd = performance.now() + MARKING_MS;
      for (const { bytes, end } of used) {
        for (let at = 0; at < end; at += sizeAt(bytes, at)) mark(bytes, at);
        if (performance.now() >= turnEnd) {
          await setImmediate();
          turnEnd = performance.now() + MARKING_MS;
        }
        // A newer run has started from the beginning.
        if (marking !== markings) return;
      }
      isMarking = false;
    },
  };
}
