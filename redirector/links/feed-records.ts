/**
 * Decodes the records of the links feed. A malformed record is skipped, logged and counted, so that
 * it does not block others.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { decodeLinkMessage, shortLinkOfSubject } from "../../shared/contracts/streams.ts";
import { createLimitedLog } from "../../shared/limited-log.ts";
import type { Log } from "../../shared/log.ts";
import type { FeedMessage } from "./feed-message.ts";

export type FeedRecords = ReturnType<typeof createFeedRecords>;

/** Calls `onSkipped` for each malformed record, each time it is read. */
export function createFeedRecords(log: Log, onSkipped: () => void = () => undefined) {
  const logSkipped = createLimitedLog(log, "feed_record_skipped");
  return {
    /**
     * Returns the record of a message; undefined for a skipped one, or for a message that contains
     * no link.
     */
    read(message: FeedMessage): LinkRecord | undefined {
      const { subject, data, sequence } = message;
      const record = decodeLinkMessage(subject, data);
      if (record === undefined && shortLinkOfSubject(subject) !== undefined) {
        onSkipped();
        // Logs only the sequence: subject and content identify the link.
        logSkipped("malformed", new TypeError("The record is malformed."), { sequence });
      }
      return record;
    },
  };
}
