/**
 * Snapshots of the links log: the file of a store with all links, and a manifest. Links are read in
 * short batches while changes go on, so a file has some states that are later than its start. That
 * is harmless: entries are whole states, and a host applies all entries from the start on. But
 * PostgreSQL could lose one of those later states again. So the manifest has also the end, an entry
 * that was numbered after the last link was read: a host uses the file only once it has passed that
 * entry, as with a base backup of PostgreSQL.
 */
import { isCount, isObject, isString, isUuid, type Members } from "../contracts/member-checks.ts";
import type { Uuid } from "../ids.ts";
import { type Candidate, EMPTY_STORE, type StoreState } from "./decisions.ts";
import { comparePositions, formatHead, type Head, isHash, parseHead } from "./entry.ts";

export type Manifest = {
  /** The format of the file; hosts ignore other ones. */
  format: string;
  /** The identity of the database. */
  database: Uuid;
  /** The last entry of which the file has everything. */
  start: Head;
  /** An entry after the last state that the file has. */
  end: Head;
  /** Number of links. */
  links: number;
  /** Size of the file in bytes, and its SHA-256 in hexadecimal digits. */
  bytes: number;
  sha256: string;
};

/** Most bytes of a manifest. */
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

/** Returns what begins to follow the log with the file of a snapshot. */
export const toCandidate = ({ database, start, end }: Manifest): Candidate => ({
  store: { ...EMPTY_STORE, database, head: start, written: start },
  end,
  hasEnd: start.hash === end.hash,
});

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
