/**
 * Writes the messages of a stream of the feed to the store: the changes and their position in one
 * transaction, so that a start continues exactly where the last process ended.
 */
import { isNotice } from "../../shared/contracts/feed-notices.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { shortLinkOfSubject } from "../../shared/contracts/streams.ts";
import {
  type Change,
  type FeedState,
  toChange,
  toMalformed,
} from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import type { FeedMessage } from "./feed-message.ts";
import type { FeedRecords } from "./feed-records.ts";
import type { StoreWriter } from "./store-writer.ts";

/** A failure of the store, not of NATS. */
export class StoreError extends Error {
  override name = "StoreError";
}

type FeedWriterDeps = {
  stream: LinksStream;
  store: Pick<StoreWriter, "feed" | "write">;
  records: Pick<FeedRecords, "read">;
  log: Log;
};

export type FeedWriter = ReturnType<typeof createFeedWriter>;

export function createFeedWriter({ stream, store, records, log }: FeedWriterDeps) {
  const { name } = stream;
  let feed = store.feed(name);
  const unwritten: Change[] = [];
  /** The state after the unwritten changes. */
  let next: FeedState = feed;

  /** Writes the unwritten changes, with a state of the stream. Throws {@link StoreError}. */
  function save(state: FeedState): void {
    try {
      store.write(unwritten, state, name);
    } catch (error) {
      throw new StoreError("The links store was not written.", { cause: error });
    } finally {
      unwritten.length = 0;
      next = feed;
    }
    feed = state;
    next = state;
  }

  return {
    /** The store's state of the stream. */
    feed: (): FeedState => feed,
    /** The state after the unwritten changes. */
    next: (): FeedState => next,
    /** Number of unwritten changes. */
    size: (): number => unwritten.length,
    save,
    /** Adds the change of a message; nothing for a message without a link or a malformed notice. */
    add(message: FeedMessage): void {
      const change = toChangeOf(message, records);
      if (change !== undefined) unwritten.push(change);
    },
    /** Updates the state after the unwritten changes. */
    advance(part: Partial<FeedState>): void {
      next = { ...next, ...part };
    },
    /**
     * Writes the unwritten changes, if there is anything new; `pending` more messages are in the
     * stream.
     */
    flush(pending: number, complete: boolean): void {
      const isSame = unwritten.length === 0 && next === feed && pending === feed.pending;
      if (complete && !feed.complete) log.info({ stream: name }, "links_store_complete");
      if (!isSame || complete !== feed.complete) save({ ...next, complete, pending });
    },
  };
}

function toChangeOf(message: FeedMessage, records: Pick<FeedRecords, "read">): Change | undefined {
  const record = records.read(message);
  if (record !== undefined) return toChange(record, message.data);
  const link = shortLinkOfSubject(message.subject);
  return link === undefined || isNotice(link) ? undefined : toMalformed(link);
}
