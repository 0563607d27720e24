/**
 * Watches the room on ClickHouse's disk. When it is full, clicks are not stored and wait in NATS
 * for 72 hours; long before, ClickHouse has no room to merge parts, and then rejects inserts for
 * their number.
 */
import { type ClickHouseReader, queryRows } from "../shared/clicks/query.ts";
import { MINUTE_MS } from "../shared/durations.ts";
import { repeat, type Repetition } from "../shared/repeat.ts";
import type { Context } from "./context.ts";

const INTERVAL_MS = MINUTE_MS;

/** Room to merge parts, which are deleted only afterwards, as a share of the tables. */
const SHARE_MIN = 0.2;

/** Room below which any disk is nearly full. */
const ROOM_BYTES_MIN = 64 * 1024 ** 2;

/** Watches the disk of the server that the client is connected to. */
export class DiskRoom {
  readonly #readings: Repetition;
  #warning: string | undefined;

  constructor({ clickhouse, log }: Context, intervalMs = INTERVAL_MS) {
    this.#readings = repeat(async () => {
      try {
        this.#warning = describeRoom(await readRoom(clickhouse));
      } catch (error) {
        // Others say that ClickHouse is away.
        log.debug({ error }, "disk_room_not_read");
        this.#warning = undefined;
      }
      return intervalMs;
    });
  }

  /** A warning to the operator; undefined while there is room, or while that is unknown. */
  get warning(): string | undefined {
    return this.#warning;
  }

  stop(): void {
    void this.#readings.stop();
  }
}

/** Bytes that are free on the disk, and bytes of all tables. */
type Room = { free: number; used: number };

/** Reads the room on the disk, and what the tables have. */
export async function readRoom(clickhouse: ClickHouseReader): Promise<Room> {
  const [row] = await queryRows<{ free: string; used: string }>(
    clickhouse,
    `SELECT filesystemAvailable() AS free, sum(total_bytes) AS used
       FROM system.tables WHERE database = currentDatabase()`,
  );
  return { free: Number(row?.free ?? Infinity), used: Number(row?.used ?? 0) };
}

/** Describes a disk with too little room; undefined when there is enough. */
export function describeRoom({ free, used }: Room): string | undefined {
  if (free >= Math.max(ROOM_BYTES_MIN, SHARE_MIN * used)) return undefined;
  return `the disk of ClickHouse is nearly full: ${formatBytes(free)} are left, and its tables have ${formatBytes(used)}; when it is full, clicks wait in CLICKS, for 72 hours`;
}

const formatBytes = (bytes: number): string =>
  bytes >= 1024 ** 3
    ? `${(bytes / 1024 ** 3).toFixed(1)} GiB`
    : `${Math.floor(bytes / 1024 ** 2)} MiB`;
