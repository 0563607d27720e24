/** Reads the records of the links feed. One that is malformed is skipped, so that it stops no other; somebody has to know. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { decodeLinkMessage, shortLinkOfSubject } from "../../shared/contracts/streams.ts";
import { createLimitedLog } from "../../shared/limited-log.ts";
import type { Log } from "../../shared/log.ts";
import type { FeedMessage } from "./feed-message.ts";

export type FeedRecords = ReturnType<typeof createFeedRecords>;

/** Calls `onSkipped` for each record that is malformed; the same one again each time it is read. */
export function createFeedRecords(log: Log, onSkipped: () => void = () => undefined) {
  const logSkipped = createLimitedLog(log, "feed_record_skipped");
  return {
    /** Returns the record of a message; undefined for one that is skipped, or that is about no link. */
    read(message: FeedMessage): LinkRecord | undefined {
      const { subject, data, sequence } = message;
      const record = decodeLinkMessage(subject, data);
      if (record === undefined && shortLinkOfSubject(subject) !== undefined) {
        onSkipped();
        // By its sequence: subject and content say which link it is.
        logSkipped("malformed", new TypeError("The record is malformed."), { sequence });
      }
      return record;
    },
  };
}
