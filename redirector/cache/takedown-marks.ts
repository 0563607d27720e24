/** Marks the cached links that takedowns cover, after the list of takedowns has changed. */
import { setImmediate } from "node:timers/promises";

import { readFacts, setTakenDown, sizeAt } from "../../shared/links-store/record.ts";
import type { LinkFacts } from "../../shared/takedowns/covers.ts";
import type { Blocks } from "./blocks.ts";

/** How long blocks are marked in one turn of the event loop. One takes some milliseconds where links have many rules. */
const MARKING_MS = 5;

export function createTakedownMarks(
  { used }: Pick<Blocks, "used">,
  covers: (link: LinkFacts) => boolean,
) {
  /** How often marking has begun, and whether it is going on. */
  let markings = 0;
  let isMarking = false;

  function mark(bytes: Buffer, at: number): void {
    const facts = readFacts(bytes, at);
    if (facts !== undefined) setTakenDown(bytes, at, covers(facts));
  }

  return {
    /** Marks a record that was copied: it may have moved behind the place where marking is. */
    onCopied(bytes: Buffer, at: number): void {
      if (isMarking) mark(bytes, at);
    },
    /** Asks again of each link whether takedowns cover it, in small parts beside requests. */
    async remark(): Promise<void> {
      const marking = ++markings;
      isMarking = true;
      let turnEnd = performance.now() + MARKING_MS;
      for (const { bytes, end } of used) {
        for (let at = 0; at < end; at += sizeAt(bytes, at)) mark(bytes, at);
        if (performance.now() >= turnEnd) {
          await setImmediate();
          turnEnd = performance.now() + MARKING_MS;
        }
        // The next one has begun at the start.
        if (marking !== markings) return;
      }
      isMarking = false;
    },
  };
}
