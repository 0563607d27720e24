/** Whether the disk of PostgreSQL is full, as far as requests have met it: small writes may find room when others do not. */
import { isDiskFull } from "./postgres.ts";

/** How long after the last request that failed it is said. */
const REMEMBERED_MS = 60_000;

/** What an operator is told; nothing has to be restarted. */
export const DATABASE_FULL =
  "its disk is full: nothing can be created or changed until there is room; links go on redirecting";

export type FullDisk = {
  /** Takes note of why a request failed. */
  notice(error: unknown): void;
  /** What is wrong; undefined when no request has met a full disk lately. */
  problem(): string | undefined;
};

export function createFullDisk(now: () => number = () => performance.now()): FullDisk {
  let metAt = -Infinity;
  return {
    notice(error) {
      if (isDiskFull(error)) metAt = now();
    },
    problem: () => (now() - metAt < REMEMBERED_MS ? DATABASE_FULL : undefined),
  };
}
