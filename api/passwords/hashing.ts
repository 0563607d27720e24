/**
 * Hashing of the passwords of links and users: about 60 ms of a core each, in Bun's thread pool.
 * All hashing goes through one queue per process, so that links with passwords cannot keep users
 * from signing in.
 */
import { availableParallelism } from "node:os";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { createLinkPasswords } from "../limits/link-passwords.ts";
import type { Worker } from "../limits/work-budget.ts";
import { createFairQueue, type FairQueueBounds } from "./fair-queue.ts";

/** OWASP's parameters for argon2id (Password Storage Cheat Sheet: 19 MiB, 2 passes). */
const ARGON2ID = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/**
 * Maximum concurrent hashes, on all cores except one, which is reserved for requests; 8 take 152
 * MiB.
 */
const HASHES_RUNNING_MAX = 8;

/** Seconds after which a client may retry: by then a full queue has shrunk to half. */
const RETRY_AFTER_SECONDS = 5;

const BOUNDS: FairQueueBounds = {
  slots: Math.min(HASHES_RUNNING_MAX, Math.max(2, availableParallelism() - 1)),
  // About 4 seconds of work for two slots: users do not wait longer.
  urgentWaitingMax: 128,
  // About 8 seconds of work for one slot, well within a client's timeout of 30.
  fairWaitingMax: 128,
  // Half of the queue, so that no account can fill it; enough for eight bulk requests at once.
  fairWaitingPerKeyMax: 64,
};

export type PasswordHashing = ReturnType<typeof createPasswordHashing>;

/** All functions that hash throw `unavailable` when too many passwords are waiting. */
export function createPasswordHashing(bounds = BOUNDS, budget = createLinkPasswords()) {
  const queue = createFairQueue(
    bounds,
    () =>
      new ApiError("unavailable", "Too many passwords are being hashed. Try again shortly.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  );
  return {
    /**
     * Takes the passwords of links and shares that a request sets from the account's budget, before
     * they are hashed. Throws `rate_limited` when nothing is left of it.
     */
    chargeForLinks(worker: Worker, count: number): void {
      if (count === 0) return;
      budget.require(worker);
      budget.spend(worker, count);
    },
    /** Hashes a link's password by Argon2id, in PHC format; accounts take turns. */
    hashForLink: (accountId: Uuid, password: string): Promise<string> =>
      queue.fair(accountId, () => hash(password)),
    /** Checks a password entered by a visitor of an account; accounts take turns. */
    verifyForAccount: (accountId: Uuid, password: string, hashed: string): Promise<boolean> =>
      queue.fair(accountId, () => Bun.password.verify(password, hashed)),
    /** Hashes a user's password by Argon2id, in PHC format; has priority over those of links. */
    hashForUser: (password: string): Promise<string> => queue.urgent(() => hash(password)),
    verifyForUser: (password: string, hashed: string): Promise<boolean> =>
      queue.urgent(() => Bun.password.verify(password, hashed)),
    /** The number of passwords that wait to be hashed. */
    waiting: queue.waiting,
  };
}

const hash = (password: string): Promise<string> => Bun.password.hash(password, ARGON2ID);
