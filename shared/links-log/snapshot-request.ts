/**
 * The request of a host that needs a snapshot: a message of plain NATS, without a reply. The host
 * looks at the list of snapshots, and asks again while there is none that it can use.
 */
import { isObject, isUuid } from "../contracts/member-checks.ts";
import { formatHead, type Head, parseHead } from "./entry.ts";

export const SNAPSHOT_REQUESTS = "link_snapshot_requests";

/** The API processes share the requests: each goes to one of them. */
export const SNAPSHOT_REQUESTS_QUEUE = "api";

export type SnapshotRequest = {
  /** The last entry that was written to the store; undefined for an empty store. */
  written: Head | undefined;
  /** The entry before a gap within its term (`StoreState.doubtful`). */
  doubtful: Head | undefined;
  /** The name of the last snapshot that was of no use to the host. */
  dropped: string | undefined;
};

/** A request with the longest numbers is shorter. */
const REQUEST_BYTES_MAX = 512;

export const encodeSnapshotRequest = ({
  written,
  doubtful,
  dropped,
}: SnapshotRequest): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      written: toText(written),
      doubtful: toText(doubtful),
      dropped: dropped ?? null,
    }),
  );

/** The head of an empty store is none. */
const toText = (head: Head | undefined): string | null =>
  head === undefined || head.position === 0 ? null : formatHead(head);

/** Decodes a request; undefined for anything else. */
export function decodeSnapshotRequest(bytes: Uint8Array): SnapshotRequest | undefined {
  if (bytes.length > REQUEST_BYTES_MAX) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (!isObject(value)) return undefined;
    const [written, doubtful] = [toHead(value["written"]), toHead(value["doubtful"])];
    const { dropped } = value;
    if (written === null || doubtful === null) return undefined;
    if (dropped !== null && !isUuid(dropped)) return undefined;
    return { written, doubtful, dropped: dropped ?? undefined };
  } catch {
    return undefined;
  }
}

/** Returns null for what is no head. */
const toHead = (value: unknown): Head | undefined | null =>
  value === null ? undefined : (parseHead(value) ?? null);
