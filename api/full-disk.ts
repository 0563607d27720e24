/**
 * Remembers whether requests failed because PostgreSQL's disk is full: small writes may succeed
 * while others fail.
 */
import { isDiskFull } from "./postgres.ts";

/** How long the problem is reported after the last failed request. */
const REMEMBERED_MS = 60_000;

/** The message for operators; no process needs a restart. */
export const DATABASE_FULL =
  "its disk is full: nothing can be created or changed until there is room; links go on redirecting";

export type FullDisk = {
  /** Records the error of a failed request. */
  record(error: unknown): void;
  /** The current problem; undefined when no recent request failed on a full disk. */
  problem(): string | undefined;
};

export function createFullDisk(now: () => number = () => performance.now()): FullDisk {
  let metAt = -Infinity;
  return {
    record(error) {
      if (isDiskFull(error)) metAt = now();
    },
    problem: () => (now() - metAt < REMEMBERED_MS ? DATABASE_FULL : undefined),
  };
}
