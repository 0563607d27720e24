/**
 * Messages at their bounds, sent straight to NATS: what somebody can send who has a process's
 * password, and what a redirector sends whose visitors fill every text of a click.
 */
import type { NatsConnection } from "nats";

import type { Click } from "../../../shared/contracts/click-record.ts";
import { SEGMENT_BYTES_MAX, SEGMENT_CLICKS_MAX } from "../../../shared/contracts/click-segment.ts";
import { CLICK_TEXT_BYTES_MAX } from "../../../shared/contracts/click-text.ts";
import {
  FAILURES_SUBJECT,
  failuresAckSubject,
  REPORTED_ALIASES_MAX,
  REPORTED_DOMAINS_MAX,
  REPORTED_LINKS_MAX,
} from "../../../shared/contracts/failures.ts";
import { CLICKS_SUBJECT } from "../../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../../shared/ids.ts";
import {
  decodeEntry,
  ENTRY_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  NO_HASH,
} from "../../../shared/links-log/entries.ts";
import type { LogSigner } from "../../../shared/links-log/signature.ts";
import {
  CHUNK_BYTES,
  manifestSubject,
  SNAPSHOT_REQUESTS,
} from "../../../shared/links-log/snapshots.ts";
import {
  HEARTBEAT_REQUESTS,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
  signEntry,
} from "../../../shared/links-log/tail.ts";
import { STATUS_SUBJECT } from "../../../shared/status.ts";
import { activeLink, encodeEntry } from "../../harness/links-log.ts";
import { encodeSegment, testClick } from "../../harness/segments.ts";
import type { WatchedProcess } from "../watch.ts";
import type { Sent } from "./measure.ts";

export type MessageInput = {
  name: string;
  /** The process that reads it. */
  process: WatchedProcess;
  subject: string;
  reply?: string;
  /** Fills a share of its bounds; every number gives other texts, and entries are of a database. */
  make: (share: number, number: number, database: Uuid) => Uint8Array;
};

/** The most that nats-server accepts. */
const PAYLOAD_BYTES_MAX = 1024 * 1024;

/** What an entry with several states may have of them. */
const ENTRY_STATES_BYTES = ENTRY_BYTES_MAX - 256;

/** Until a worker that waits for more of a batch has read it. */
const READ_MS = 1_000;

/** Bytes of a click beside its texts, generously. */
const CLICK_BYTES = 100;

function createClick(number: number, fill: (most: number, unit: string) => string): Click {
  const own = number.toString(36);
  return testClick({
    time: Date.now(),
    linkId: newUuid(),
    accountId: newUuid(),
    address: `2001:db8:${(number & 0xffff).toString(16)}::${(number >> 16).toString(16)}`,
    host: `${own}.${fill(CLICK_TEXT_BYTES_MAX.host - 20, "a.")}example.com`,
    userAgent: `Mozilla/5.0 (${own}) ${fill(CLICK_TEXT_BYTES_MAX.userAgent - 40, "Android 1; ")}`,
    referrer: `https://${own}.\u00e9xample.com/${fill(CLICK_TEXT_BYTES_MAX.referrer - 60, "%C3%A9/")}`,
    language: `de-${own},${fill(CLICK_TEXT_BYTES_MAX.language - 20, "en;q=0.1,")}`,
    query: `utm_source=${own}&${fill(CLICK_TEXT_BYTES_MAX.query - 40, "utm_term=%C3%A9&")}`,
  });
}

/** Clicks with other texts each, as long as `length` bytes each allow. */
function makeSegment(number: number, clicks: number, isLong: boolean): Buffer {
  const fill = (most: number, unit: string): string =>
    isLong ? unit.repeat(Math.floor(most / unit.length)) : "";
  return encodeSegment(
    { journalId: newUuid(), segment: 0 },
    Array.from({ length: clicks }, (_, i) => createClick(number * SEGMENT_CLICKS_MAX + i, fill)),
  );
}

/** Bytes of a click with the longest texts. */
const LONG_CLICK_BYTES =
  CLICK_BYTES + Object.values(CLICK_TEXT_BYTES_MAX).reduce((sum, most) => sum + most, 0);

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Levels of JSON in so many bytes. */
const nest = (bytes: number): Uint8Array =>
  Buffer.from("[".repeat(bytes / 2).concat("]".repeat(bytes / 2)));

/** Bytes of a member whose number has five digits, and its comma. */
const MEMBER_BYTES = 11;

/** Members of JSON in so many bytes, at most a million. */
function widen(bytes: number): Uint8Array {
  const members = Array.from(
    { length: Math.floor((bytes - 1) / MEMBER_BYTES) },
    (_, i) => `"m${String(i).padStart(5, "0")}":0`,
  );
  return Buffer.from(`{${members.join()}}`);
}

const domain = (i: number): string => `d${i}.example.com`;

function makeReport(share: number): Uint8Array {
  const many = <T>(most: number, make: (i: number) => T): T[] =>
    Array.from({ length: Math.floor(most * share) }, (_, i) => make(i));
  return toJson({
    id: newUuid(),
    bucket: 1_700_000_100,
    links: many(REPORTED_LINKS_MAX, (i) => ({
      account_id: newUuid(),
      mode: "live",
      domain: domain(i),
      link_id: newUuid(),
      reason: "expired",
      requests: 1,
    })),
    domains: many(REPORTED_DOMAINS_MAX, (i) => ({ domain: domain(i), requests: 1 })),
    aliases: many(REPORTED_ALIASES_MAX, (i) => ({
      domain: domain(i),
      alias: `a${i}`,
      requests: 1,
    })),
  });
}

function makeLink(share: number, number: number): Uint8Array {
  const conditions = Array.from({ length: 10 }, (_, i) => ({
    type: "ip",
    in: Array.from({ length: 5 }, (__, j) => `2001:db8:${i}:${j}::/64`),
    not: true,
  }));
  const rules = Array.from({ length: Math.max(1, Math.floor(20 * share)) }, () => ({
    id: newUuid(),
    url: "https://example.com/",
    conditions,
  }));
  return toJson({ ...activeLink("cost-message", number), extras: { rules } });
}

/** An entry that follows nothing, and is later than all that everybody has: its states are read. */
const forgeEntry = (number: number, database: Uuid, state: Uint8Array): Uint8Array =>
  encodeEntry({ database, term: 1, position: Date.now() * 1_000 + number, previous: NO_HASH }, [
    state,
  ]);

/** States of an entry, each as short as possible. */
const manyStates = (bytes: number): Uint8Array => Buffer.from("1\n".repeat(bytes / 2).slice(0, -1));

/** A manifest of a snapshot that is not there. */
const forgeManifest = (share: number): Uint8Array =>
  toJson({
    format: "x".repeat(3_500 * share),
    database: newUuid(),
    start: `1.1.${NO_HASH}`,
    end: `1.1.${NO_HASH}`,
    links: 1,
    bytes: Number.MAX_SAFE_INTEGER,
    sha256: NO_HASH,
  });

/** A request of a host that is far ahead. */
const forgeRequest = (number: number): Uint8Array => Buffer.from(String(number + 1));

const ACK = failuresAckSubject("01900000-0000-7000-8000-000000000001");

/** Messages on a subject, each by its name; a report of failures is acknowledged. */
const messagesTo = (
  process: MessageInput["process"],
  subject: string,
  makes: Record<string, MessageInput["make"]>,
): MessageInput[] =>
  Object.entries(makes).map(([name, make]) => ({
    name,
    process,
    subject,
    ...(subject === FAILURES_SUBJECT ? { reply: ACK } : {}),
    make,
  }));

/** Every message that a process reads, at the bounds of its form, and without any form. */
export const MESSAGES: readonly MessageInput[] = [
  ...messagesTo("worker", CLICKS_SUBJECT, {
    "segment with most clicks": (share, number) =>
      makeSegment(number, Math.floor(SEGMENT_CLICKS_MAX * share), false),
    "segment with longest texts": (share, number) =>
      makeSegment(number, Math.floor((SEGMENT_BYTES_MAX / LONG_CLICK_BYTES) * share), true),
    "segment without a form": (share) =>
      Buffer.alloc(Math.floor(SEGMENT_BYTES_MAX * share), "SHCP"),
  }),
  ...messagesTo("worker", FAILURES_SUBJECT, {
    "report with most entries": makeReport,
    "report of nested JSON": (share) => nest(PAYLOAD_BYTES_MAX * share),
    "report of wide JSON": (share) => widen(PAYLOAD_BYTES_MAX * share),
  }),
  ...messagesTo("redirector", LINK_LOG_SUBJECT, {
    "entry with most conditions": (share, number, database) =>
      forgeEntry(number, database, makeLink(share, number)),
    "entry with most states": (share, number, database) =>
      forgeEntry(number, database, manyStates(ENTRY_STATES_BYTES * share)),
    "entry of nested JSON": (share) => nest((MESSAGE_BYTES_MAX - 1) * share),
  }),
  ...messagesTo("api", LINK_LOG_SUBJECT, {
    "entry of wide JSON, which publishers read": (share) => widen(MESSAGE_BYTES_MAX * share),
  }),
  ...messagesTo("redirector", manifestSubject("cost"), {
    "manifest of a snapshot that is not there": forgeManifest,
  }),
  ...messagesTo("redirector", manifestSubject("cost-nested"), {
    "manifest of nested JSON": (share) => nest(CHUNK_BYTES * share),
  }),
  ...messagesTo("api", SNAPSHOT_REQUESTS, {
    "request for a snapshot of another history": (_, number) => forgeRequest(number),
    "request for a snapshot of nested JSON": (share) => nest(PAYLOAD_BYTES_MAX * share),
  }),
  ...messagesTo("api", HEARTBEAT_REQUESTS, {
    "request for a heartbeat": (share) => Buffer.alloc(PAYLOAD_BYTES_MAX * share, "x"),
  }),
  ...(["api", "redirector", "worker"] as const).map((process) => ({
    name: `status request, read by the ${process}`,
    process,
    subject: STATUS_SUBJECT,
    reply: "_INBOX_api.cost.1",
    make: (share: number) => Buffer.alloc(PAYLOAD_BYTES_MAX * share, "x"),
  })),
];

/** The database whose entries the processes of an installation take. */
export async function readDatabase(nats: NatsConnection): Promise<Uuid> {
  const { streams } = await nats.jetstreamManager();
  const { data } = await streams.getMessage(LINK_LOG_STREAM, { last_by_subj: LINK_LOG_SUBJECT });
  const database = decodeEntry(data)?.database;
  if (database === undefined) throw new Error("The links log does not end with an entry.");
  return database;
}

/** Publishes a message, and returns when it has been read. */
export async function sendMessage(
  nats: NatsConnection,
  signer: LogSigner,
  { subject, reply }: MessageInput,
  bytes: Uint8Array,
): Promise<Sent> {
  // States of an entry are read only when an API process has signed it.
  const entry = subject === LINK_LOG_SUBJECT ? decodeEntry(bytes) : undefined;
  const headers = entry === undefined ? undefined : signEntry(signer, entry, entry);
  nats.publish(subject, bytes, {
    ...(reply === undefined ? {} : { reply }),
    ...(headers === undefined ? {} : { headers }),
  });
  await nats.flush();
  await Bun.sleep(READ_MS);
  return { bytes: bytes.length, status: 200 };
}
