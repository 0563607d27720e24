/** Ranges of which every bucket of every rollup is compared. */
import type { BucketRange } from "../../shared/clicks/rollups.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";

/** The whole UTC days of a range: the longest buckets are days. */
export const wholeDays = ({ from, to }: BucketRange): BucketRange => ({
  from: Math.floor(from / DAY_SECONDS) * DAY_SECONDS,
  to: Math.ceil(to / DAY_SECONDS) * DAY_SECONDS,
});
