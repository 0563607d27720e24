/** What faults act on, and what is counted meanwhile. */
import type { Stack } from "../harness/stack.ts";
import type { Replaceable } from "./faults.ts";
import type { LossyClickHouse } from "./lossy-clickhouse.ts";

export type FollowedLink = { id: string; alias: string };

export type Tally = { redirected: number; unknown: number };

/** What must be stored in the end. */
export type Ledger = {
  links: readonly FollowedLink[];
  /** By link id: redirects, and clicks that a fault published. */
  tallies: Map<string, Tally>;
  /** Segments that were dead letters, and so are in the stream twice. */
  retried: Set<string>;
  /** A folder with the segments of streams that were deleted, a file for each. */
  deletedDir: string;
};

/** Two workers, of which the stack's stores directly, and the other one through the proxy. */
export type Workers = { stack: Stack; worker: Replaceable; lossy: LossyClickHouse };

export type Targets = Workers & {
  redirector: Replaceable;
  ledger: Ledger;
  /** Runs `kill`, which kills a redirector, and waits until its replacement redirects all links. */
  restart: (kill: () => Promise<void>) => Promise<void>;
};

/** Counts are not what they must be, which is what a removed protection has to lead to. */
export class UnequalError extends Error {
  override name = "UnequalError";
}

/** Exit code when counts differ, which tells it from a test that could not run. */
export const EXIT_UNEQUAL = 3;
