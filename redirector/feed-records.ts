/** Reads the records of the links feed. One that is malformed is skipped, so that it stops no other; somebody has to know. */
import type { LinkRecord } from "../shared/contracts/link-record.ts";
import { decodeLinkMessage, shortLinkOfSubject } from "../shared/contracts/streams.ts";
import { createLimitedLog } from "../shared/limited-log.ts";
import type { Log } from "../shared/log.ts";
import type { FeedMessage } from "./link-fetch.ts";

/** Why a record was skipped: a member is not as it must be, or applying it threw an error. */
export type SkipReason = "malformed" | "failed";

export type FeedRecords = ReturnType<typeof createFeedRecords>;

export function createFeedRecords(log: Log) {
  const skipped: Record<SkipReason, number> = { malformed: 0, failed: 0 };
  const logSkipped = createLimitedLog(log, "feed_record_skipped");

  /** The message is logged by its sequence: subject and content say which link it is. */
  function skip(reason: SkipReason, { sequence }: FeedMessage, error: unknown): void {
    skipped[reason]++;
    logSkipped(reason, error, { sequence });
  }

  /** Returns the record of a message; undefined for one that is skipped, or that is about no link. */
  function read(message: FeedMessage): LinkRecord | undefined {
    const record = decodeLinkMessage(message.subject, message.data);
    if (record === undefined && shortLinkOfSubject(message.subject) !== undefined)
      skip("malformed", message, new TypeError("The record is malformed."));
    return record;
  }

  return {
    read,
    /** Calls `use` with the record of a message, if it has one; never throws. */
    apply(message: FeedMessage, use: (record: LinkRecord) => void): void {
      const record = read(message);
      if (record === undefined) return;
      try {
        use(record);
      } catch (error) {
        skip("failed", message, error);
      }
    },
    /** Records skipped since the start, by reason; the same one again each time it is read. */
    skipped: (): Readonly<Record<SkipReason, number>> => skipped,
  };
}
