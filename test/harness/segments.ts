/** Segments of clicks as redirectors publish them, for tests of what comes after. */
import type { NatsConnection } from "nats";

import type { Click } from "../../shared/contracts/click-record.ts";
import { formatSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import { CLICKS_SUBJECT } from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { encodeSegment } from "./encode-segment.ts";

export type TestSegment = SegmentId & { bytes: Buffer; clicks: number };

export type TestJournal = {
  /** Encodes the journal's next segment. */
  next(clicks: number): TestSegment;
};

/** A journal whose clicks are all of one link, and so old; the referrer is another website. */
export function createJournal(
  linkId: Uuid = newUuid(),
  ageMs = 0,
  accountId: Uuid = newUuid(),
): TestJournal {
  const journalId = newUuid();
  let segment = 0;

  const createClick = (i: number): Click => ({
    time: Date.now() - ageMs,
    linkId,
    accountId,
    mode: "live",
    prefetch: false,
    embedded: false,
    scanned: false,
    privacy: false,
    address: `198.51.100.${i % 200}`,
    host: "localhost",
    userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    referrer: `https://${REFERRER_HOST}/page`,
    language: "en",
    query: "",
  });

  return {
    next(clicks) {
      const id = { journalId, segment: segment++ };
      const content = Array.from({ length: clicks }, (_, i) => createClick(i));
      return { ...id, clicks, bytes: encodeSegment(id, content) };
    },
  };
}

export const REFERRER_HOST = "referrer.example";

/** Publishes segments; `again` as when JetStream has forgotten their ids. */
export async function publishSegments(
  nats: NatsConnection,
  segments: readonly TestSegment[],
  { again = false } = {},
): Promise<void> {
  const client = nats.jetstream();
  await Promise.all(
    segments.map((segment) =>
      client.publish(
        CLICKS_SUBJECT,
        segment.bytes,
        again ? {} : { msgID: formatSegmentId(segment) },
      ),
    ),
  );
}
