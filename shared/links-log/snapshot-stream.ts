/**
 * The stream of snapshots: each is a compressed file in chunks, and its manifest after them. A
 * snapshot is not complete without a manifest that an API process signed.
 */
import {
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
} from "nats";

import {
  ensureStream,
  jetStreamErrorCode,
  NO_MESSAGE,
  STREAM_NOT_FOUND,
} from "../contracts/streams.ts";
import { type LogVerifier, manifestStatement } from "./signature.ts";
import { decodeManifest, type Manifest } from "./snapshot.ts";

export const SNAPSHOTS_STREAM = "LINK_SNAPSHOTS";

/** Bytes of a chunk but the last. */
export const CHUNK_BYTES = 512 * 1024;

/** The headers of a message. */
const HEADERS_BYTES_MAX = 512;

const ROOT = "link_snapshots";
const MANIFEST = "manifest";

export const chunkSubject = (name: string, index: number): string => `${ROOT}.${name}.${index}`;
export const manifestSubject = (name: string): string => `${ROOT}.${name}.${MANIFEST}`;

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
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msg_size: CHUNK_BYTES + HEADERS_BYTES_MAX,
    allow_direct: true,
    duplicate_window: nanos(1_000),
  });

/** A snapshot that is stored completely. */
export type StoredSnapshot = { name: string; manifest: Manifest; storedAt: Date };

/** Lists the snapshots, in the order in which they were stored. */
export async function listSnapshots(
  manager: JetStreamManager,
  verifier: LogVerifier,
): Promise<StoredSnapshot[]> {
  const subjects = await listSubjects(manager, manifestSubject("*"));
  const found: (StoredSnapshot & { sequence: number })[] = [];
  for (const subject of subjects) {
    const [, name = ""] = subject.split(".");
    const stored = await readManifest(manager, verifier, name);
    if (stored !== undefined) found.push({ name, ...stored });
  }
  return found
    .toSorted((a, b) => a.sequence - b.sequence)
    .map(({ name, manifest, storedAt }) => ({ name, manifest, storedAt }));
}

/** The subjects that have messages; none while there is no stream. */
export async function listSubjects(manager: JetStreamManager, filter: string): Promise<string[]> {
  try {
    const options = { subjects_filter: filter };
    const { state } = await manager.streams.info(SNAPSHOTS_STREAM, options);
    return Object.keys(state.subjects ?? {});
  } catch (error) {
    if (jetStreamErrorCode(error) === STREAM_NOT_FOUND) return [];
    throw error;
  }
}

async function readManifest(manager: JetStreamManager, verifier: LogVerifier, name: string) {
  try {
    const query = { last_by_subj: manifestSubject(name) };
    const message = await manager.streams.getMessage(SNAPSHOTS_STREAM, query);
    const { data, header, seq, time } = message;
    if (!verifier.verify(manifestStatement(name, data), header)) return undefined;
    const manifest = decodeManifest(data);
    return manifest === undefined ? undefined : { manifest, sequence: seq, storedAt: time };
  } catch (error) {
    // Another process has removed it.
    if (error instanceof NatsError && jetStreamErrorCode(error) === NO_MESSAGE) return undefined;
    throw error;
  }
}
