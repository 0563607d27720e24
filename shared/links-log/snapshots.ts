/**
 * Snapshots of the links log: the file of a store with all links, and a manifest. Links are read in
 * short batches while changes go on, so a file has some states that are later than its start. That
 * is harmless: entries are whole states, and a host applies all entries from the start on. But
 * PostgreSQL could lose one of those later states again. So the manifest has also the end, an entry
 * that was numbered after the last link was read: a host uses the file only once it has passed that
 * entry, as with a base backup of PostgreSQL.
 *
 * They are in a stream: the compressed file in chunks, and the manifest after them, without which a
 * snapshot is not complete. A host that needs one asks by a message of plain NATS, without a reply,
 * and looks at the list of snapshots.
 */
import { headers as newHeaders, type JetStreamManager, type MsgHdrs } from "nats";

import { isCount, isObject, isString, isUuid, type Members } from "../contracts/member-checks.ts";
import { ensureStream, findMessage, unlessNoStream } from "../contracts/streams.ts";
import type { Uuid } from "../ids.ts";
import {
  comparePositions,
  formatHead,
  hashOf,
  type Head,
  isHash,
  parseHead,
  type StoreState,
} from "./entries.ts";
import { type LogVerifier, manifestStatement } from "./signature.ts";
import { findInTail, HEADERS_BYTES_MAX } from "./tail.ts";

export const SNAPSHOTS_STREAM = "LINK_SNAPSHOTS";

/** Bytes of a chunk but the last. */
export const CHUNK_BYTES = 512 * 1024;

/** The header of a chunk with its hash: that of the whole file does not say what is damaged. */
const HASH_HEADER = "Shorthop-Hash";

/** Bytes that are compressed or written at once: each part is a turn of the event loop. */
export const PART_BYTES = 1024 * 1024;

const ROOT = "link_snapshots";
const MANIFEST = "manifest";

export const chunkSubject = (name: string, index: number): string => `${ROOT}.${name}.${index}`;
export const manifestSubject = (name: string): string => `${ROOT}.${name}.${MANIFEST}`;

/** Returns the headers of a chunk. */
export function chunkHeaders(chunk: Uint8Array): MsgHdrs {
  const headers = newHeaders();
  headers.set(HASH_HEADER, hashOf(chunk));
  return headers;
}

/** Whether a chunk is what was stored, as far as its headers say. */
export const isWhole = (chunk: Uint8Array, headers: MsgHdrs | undefined): boolean =>
  headers?.has(HASH_HEADER) !== true || headers.get(HASH_HEADER) === hashOf(chunk);

/** All messages of a snapshot. */
export const snapshotSubjects = (name: string): string => `${ROOT}.${name}.*`;

/** The place of a chunk in its file, by its subject; NaN for the manifest. */
export const chunkIndex = (subject: string): number =>
  Number(subject.slice(subject.lastIndexOf(".") + 1));

/** Creates the stream unless it exists. A full one refuses a snapshot: older ones are of use. */
export const ensureSnapshotsStream = (manager: JetStreamManager, replicas: number): Promise<void> =>
  ensureStream(manager, {
    num_replicas: replicas,
    name: SNAPSHOTS_STREAM,
    description: "Snapshots of all links",
    subjects: [`${ROOT}.>`],
    max_msg_size: CHUNK_BYTES + HEADERS_BYTES_MAX,
    allow_direct: true,
  });

/** A snapshot that is stored completely; the sequence is that of its manifest. */
export type StoredSnapshot = { name: string; manifest: Manifest; sequence: number; storedAt: Date };

/** Lists the snapshots, in the order in which they were stored. */
export async function listSnapshots(
  manager: JetStreamManager,
  verifier: LogVerifier,
): Promise<StoredSnapshot[]> {
  const found: StoredSnapshot[] = [];
  for (const subject of await listSubjects(manager, manifestSubject("*"))) {
    const stored = await readSnapshot(manager, verifier, subject);
    if (stored !== undefined) found.push(stored);
  }
  return found.toSorted((a, b) => a.sequence - b.sequence);
}

/** The subjects that have messages; none while there is no stream. */
export async function listSubjects(manager: JetStreamManager, filter: string): Promise<string[]> {
  const request = manager.streams.info(SNAPSHOTS_STREAM, { subjects_filter: filter });
  return Object.keys((await unlessNoStream(request))?.state.subjects ?? {});
}

async function readSnapshot(
  manager: JetStreamManager,
  verifier: LogVerifier,
  subject: string,
): Promise<StoredSnapshot | undefined> {
  const [, name = ""] = subject.split(".");
  const message = await findMessage(manager, SNAPSHOTS_STREAM, { last_by_subj: subject });
  // Another process has removed it.
  if (message === undefined) return undefined;
  const { data, header, seq, time } = message;
  if (!verifier.verify(manifestStatement(name, data), header)) return undefined;
  const manifest = decodeManifest(data);
  return manifest && { name, manifest, sequence: seq, storedAt: time };
}

export type Manifest = {
  /** The format of the file; hosts ignore other ones. */
  format: string;
  database: Uuid;
  /** The last entry of which the file has everything. */
  start: Head;
  /** An entry after the last state that the file has. */
  end: Head;
  links: number;
  /** Size of the file in bytes, and its SHA-256 in hexadecimal digits. */
  bytes: number;
  sha256: string;
};

const MANIFEST_BYTES_MAX = 4 * 1024;

export const encodeManifest = ({ start, end, ...manifest }: Manifest): Uint8Array =>
  Buffer.from(JSON.stringify({ ...manifest, start: formatHead(start), end: formatHead(end) }));

/** Decodes a manifest; undefined when it is malformed, which counts as if it were not there. */
export function decodeManifest(bytes: Uint8Array): Manifest | undefined {
  if (bytes.length > MANIFEST_BYTES_MAX) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isObject(value) ? toManifest(value) : undefined;
  } catch {
    return undefined;
  }
}

function toManifest(value: Members): Manifest | undefined {
  const { format, database, links, bytes, sha256 } = value;
  const [start, end] = [parseHead(value["start"]), parseHead(value["end"])];
  return start !== undefined &&
    end !== undefined &&
    isString(format) &&
    isUuid(database) &&
    isCount(links) &&
    isCount(bytes) &&
    isHash(sha256)
    ? { format, database, start, end, links, bytes, sha256 }
    : undefined;
}

/** Snapshots that are kept: a host may still be reading the one before. */
export const SNAPSHOTS_KEPT = 2;

const byAge = (a: Manifest, b: Manifest): number => comparePositions(b.start, a.start);

/**
 * Returns the snapshot that a host takes: the newest one of its database that the tail continues;
 * undefined if it has to ask for one.
 */
export const chooseSnapshot = (
  manifests: readonly Manifest[],
  { database }: StoreState,
  isContinued: (start: Head) => boolean,
): Manifest | undefined =>
  manifests
    .filter((manifest) => database === undefined || manifest.database === database)
    .toSorted(byAge)
    .find(({ start }) => isContinued(start));

/** Finds where the tail goes on after the starts of snapshots: sequences by their hashes. */
export async function findStarts(
  manager: JetStreamManager,
  verifier: LogVerifier,
  manifests: readonly Manifest[],
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const { start } of manifests) {
    const sequence = await findInTail(manager, verifier, start);
    if (sequence !== undefined) found.set(start.hash, sequence);
  }
  return found;
}

/**
 * Returns the first sequence that the tail must keep; undefined if all of it. A tail is truncated
 * only behind the snapshots that hosts may take, and these are the ones that it continues.
 * `sequenceOf` returns the sequence of an entry; undefined for one that the tail does not have.
 */
export function firstKept(
  stored: readonly Manifest[],
  sequenceOf: (entry: Head) => number | undefined,
): number | undefined {
  const kept = stored.toSorted(byAge).flatMap(({ start }) => sequenceOf(start) ?? []);
  return kept.length === 0 ? undefined : Math.min(...kept.slice(0, SNAPSHOTS_KEPT));
}

export const SNAPSHOT_REQUESTS = "link_snapshot_requests";

/** The API processes share the requests: each goes to one of them. */
export const SNAPSHOT_REQUESTS_QUEUE = "api";

/** The request of a host that can take no snapshot: the term of the last entry of its store. */
export const encodeSnapshotRequest = (term: number): string => String(term);

/** Decodes a request; undefined for anything else. */
export const decodeSnapshotRequest = (bytes: Uint8Array): number | undefined =>
  bytes.length <= TERM_DIGITS_MAX && /^\d+$/.test(Buffer.from(bytes).toString())
    ? Number(Buffer.from(bytes).toString())
    : undefined;

/** A term is a safe integer: it has no more digits. */
const TERM_DIGITS_MAX = 15;
