/** Converts segments of clicks into rows. */
import { decodeSegment } from "../shared/contracts/click-segment.ts";
import type { RowsOf } from "./batches/deps.ts";
import { type ClickRow, type Enrich, enrichInTurns } from "./enrich/enrich.ts";

/** Creates the conversion of a segment's bytes. */
export const createRowsOf =
  (enrich: Enrich): RowsOf<ClickRow[]> =>
  async (bytes) => {
    const segment = decodeSegment(bytes);
    if (segment === undefined) return undefined;
    const times = segment.clicks.map(({ time }) => time);
    return {
      journalId: segment.journalId,
      segment: segment.segment,
      rows: await enrichInTurns(enrich, segment),
      clicks: segment.clicks.length,
      links: [...new Set(segment.clicks.map(({ linkId }) => linkId))],
      whole: segment.whole,
      // Infinite without clicks.
      firstClick: Math.min(...times),
      lastClick: Math.max(...times),
    };
  };
