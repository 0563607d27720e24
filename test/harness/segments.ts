/** Segments of clicks as redirectors encode and publish them, for tests of what comes after. */
import type { NatsConnection } from "nats";

import {
  type Click,
  encodeClick,
  RECORD_BYTES_MAX,
  type RequestClick,
  toRequestClick,
} from "../../shared/contracts/click-record.ts";
import {
  encodeSegmentHeader,
  formatSegmentId,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import { CLICKS_SUBJECT } from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";

/** A click by a person of whom nothing is known, with these fields. */
export const testClick = (change: Partial<Click> = {}): Click => ({
  time: 1_800_000_000_000,
  linkId: "0190a5a2-0000-7000-8000-000000000001",
  accountId: "0190a5a2-0000-7000-8000-000000000002",
  mode: "live",
  prefetch: false,
  embedded: false,
  scanned: false,
  privacy: false,
  address: "203.0.113.9",
  host: "sho.rt",
  userAgent: "agent",
  referrer: "",
  language: "",
  query: "",
  ...change,
});

/** Encodes one click as a record. */
export function encodeRecord(click: RequestClick): Buffer {
  const record = Buffer.alloc(RECORD_BYTES_MAX);
  return record.subarray(0, encodeClick(record, 0, click));
}

/** Encodes a segment of these clicks. */
export const encodeSegment = (id: SegmentId, clicks: readonly Click[]): Buffer =>
  Buffer.concat([
    encodeSegmentHeader(id),
    ...clicks.map((click) => encodeRecord(toRequestClick(click))),
  ]);

export type TestSegment = SegmentId & { bytes: Buffer; clicks: number };

/** A journal whose clicks are all of one link, and so old; the referrer is another website. */
export class TestJournal {
  readonly #id = newUuid();
  readonly #linkId: Uuid;
  readonly #ageMs: number;
  readonly #accountId: Uuid;
  #segment = 0;

  constructor(linkId = newUuid(), ageMs = 0, accountId = newUuid()) {
    this.#linkId = linkId;
    this.#ageMs = ageMs;
    this.#accountId = accountId;
  }

  /** Encodes the journal's next segment. */
  next(clicks: number): TestSegment {
    const id = { journalId: this.#id, segment: this.#segment++ };
    const content = Array.from({ length: clicks }, (_, i) => this.#click(i));
    return { ...id, clicks, bytes: encodeSegment(id, content) };
  }

  #click(i: number): Click {
    return testClick({
      time: Date.now() - this.#ageMs,
      linkId: this.#linkId,
      accountId: this.#accountId,
      address: `198.51.100.${i % 200}`,
      host: "localhost",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      referrer: `https://${REFERRER_HOST}/page`,
      language: "en",
    });
  }
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
