/**
 * Hashing of the passwords of links and users: about 60 ms of a core each, in Bun's thread pool.
 * All hashing goes through one queue per process, so that links with passwords cannot keep users
 * from signing in.
 */
import { availableParallelism } from "node:os";

import { preparePassword } from "../../shared/contracts/text.ts";
import { FairQueue, type FairQueueBounds } from "../../shared/fair-queue.ts";
import type { Uuid } from "../../shared/ids.ts";

/** OWASP's parameters for argon2id (Password Storage Cheat Sheet: 19 MiB, 2 passes). */
const ARGON2ID = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/**
 * Maximum concurrent hashes, on all cores except one, which is reserved for requests; 8 take 152
 * MiB.
 */
const HASHES_RUNNING_MAX = 8;

const SLOTS = Math.min(HASHES_RUNNING_MAX, Math.max(2, availableParallelism() - 1));

const BOUNDS: FairQueueBounds = {
  running: SLOTS,
  runningEach: SLOTS,
  reserved: 1,
  // About 4 seconds of work for two slots: users do not wait longer.
  urgentWaiting: 128,
  // About 8 seconds of work for one slot, well within a client's timeout of 30.
  waiting: 128,
  // Half of the queue, so that no account can fill it; enough for eight bulk requests at once.
  waitingEach: 64,
};

/** Passwords of users: what people sign in with. */
export interface UserPasswords {
  /** Hashes a user's password, in PHC format. */
  hashForUser(password: string): Promise<string>;
  verifyForUser(password: string, hashed: string): Promise<boolean>;
}

/** All methods that hash throw `QueueFull` when too many passwords are waiting. */
export class PasswordHashing implements UserPasswords {
  readonly #queue = new FairQueue("a password's hash", BOUNDS);

  /** Hashes a link's password by Argon2id, in PHC format; accounts take turns. */
  hashForLink(accountId: Uuid, password: string): Promise<string> {
    return this.#queue.run(accountId, () => hash(password));
  }

  /** Checks a password entered by a visitor of an account; accounts take turns. */
  verifyForAccount(accountId: Uuid, password: string, hashed: string): Promise<boolean> {
    return this.#queue.run(accountId, () => verify(password, hashed));
  }

  /** Hashes a user's password by Argon2id, in PHC format; has priority over those of links. */
  hashForUser(password: string): Promise<string> {
    return this.#queue.runUrgent(() => hash(password));
  }

  verifyForUser(password: string, hashed: string): Promise<boolean> {
    return this.#queue.runUrgent(() => verify(password, hashed));
  }

  /** The number of passwords that wait to be hashed. */
  waiting(): number {
    return this.#queue.waiting;
  }
}

const hash = (password: string): Promise<string> =>
  Bun.password.hash(preparePassword(password), ARGON2ID);

const verify = (password: string, hashed: string): Promise<boolean> =>
  Bun.password.verify(preparePassword(password), hashed);
