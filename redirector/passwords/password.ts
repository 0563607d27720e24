/**
 * Verifies passwords of links. Argon2id is expensive by design, so few verifications run at a time,
 * off the event loop, and wrong attempts are rate limited. No limit may let one client lock others
 * out (docs/decisions/0013):
 *
 * - Wrong attempts are limited per link and network, and more loosely per link and site.
 * - The queue for verifications is ordered by the recent wrong attempts of a site, fewest first,
 *   not by arrival: a first-time visitor is ahead of a client that keeps trying, from however many
 *   addresses of its site.
 * - When the queue is full, the last entry in this order is rejected.
 * - One site cannot exhaust the limit per link, and this limit does not apply to visitors who know
 *   the password.
 * - A network has a limit on verifications over all links, because the owner of a link can submit
 *   its correct password any number of times. Correct passwords are remembered, so that people who
 *   share an address all get in.
 */
import { createHmac, randomBytes } from "node:crypto";

import { LRUCache } from "lru-cache";

import { type AddressGroups, addressGroups } from "../../shared/addresses.ts";
import { sliceToString } from "../../shared/bytes.ts";
import { preparePassword } from "../../shared/contracts/text.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import { FixedWindow } from "../../shared/local-limits.ts";
import { AddressWindow } from "../visitors/address-window.ts";

/** Concurrent verifications: each takes 19 MiB and one core for several tens of milliseconds. */
const CONCURRENT_MAX = 2;

/** Verifications in the queue: one to two seconds of work. */
const WAITING_MAX = 64;
const WAITING_PER_NETWORK_MAX = 2;

/** Wrong attempts per network and link; a site may make `SITE_FACTOR` times as many. */
const TRIES = { limit: 10, seconds: 60, keysMax: 50_000 };

/** Wrong attempts per link from all networks, against guessing from very many networks. */
const LINK_TRIES = { limit: 1_000, seconds: 60, keysMax: 50_000 };

/**
 * Verifications of a network on all links, right and wrong ones, each of which takes some 60 ms of
 * a core: 2 % of one.
 */
const VERIFICATIONS = { limit: 100, seconds: 300, keysMax: 50_000 };

/** Wrong attempts of a site on all links, which rank it in the queue. */
const RECENT = { limit: Infinity, seconds: 60, keysMax: 50_000 };

/**
 * Maximum bytes of a posted form: a password of 128 characters and a referrer (`shortenReferrer`),
 * each in its longest encoding, and the fields' names.
 */
export const FORM_BYTES_MAX = 4_096;

type PasswordAttempt = {
  address: string;
  password: string;
  /** Whether the client has a valid unlock cookie for the link. */
  knownVisitor: boolean;
};

/** `limited`: too many attempts; `busy`: the queue is full, in all or for this network. */
export type PasswordResult = "right" | "wrong" | "limited" | "busy";

export class PasswordCheck {
  readonly #verify: (password: string, hash: string) => Promise<boolean>;
  readonly #byAddress = new AddressWindow(TRIES);
  readonly #byLink = new FixedWindow(LINK_TRIES);
  readonly #verifications = new AddressWindow(VERIFICATIONS);
  readonly #recent = new FixedWindow(RECENT);
  readonly #known = new KnownPasswords();
  readonly #queue = new VerificationQueue();

  /** `verify` returns whether a password matches a hash. */
  constructor(
    verify: (password: string, hash: string) => Promise<boolean> = (password, hash) =>
      Bun.password.verify(password, hash),
  ) {
    this.#verify = verify;
  }

  async check(link: CachedLink, attempt: PasswordAttempt): Promise<PasswordResult> {
    const { address } = attempt;
    const password = preparePassword(attempt.password);
    const ids = sliceToString(link.ids);
    const hash = link.password_hash ?? "";
    const groups = addressGroups(address);
    if (this.#isLimited(attempt, ids)) return "limited";
    if (this.#known.has(password, hash)) return "right";
    if (this.#verifications.isExhausted(address)) return "limited";
    const wrongAttempts = this.#recent.state(groups.site).spent;
    if (!(await this.#queue.enter(groups, wrongAttempts))) return "busy";
    try {
      // The same client may have reached its limit while this attempt waited.
      if (this.#isLimited(attempt, ids) || this.#verifications.isExhausted(address))
        return "limited";
      this.#verifications.consume(address);
      if (await this.#verify(password, hash)) {
        this.#known.add(password, hash);
        return "right";
      }
    } finally {
      this.#queue.leave();
    }
    this.#byAddress.consume(address, ids);
    this.#byLink.consume(ids);
    this.#recent.consume(groups.site);
    return "wrong";
  }

  #isLimited({ address, knownVisitor }: PasswordAttempt, ids: string): boolean {
    return (
      this.#byAddress.isExhausted(address, ids) || (!knownVisitor && this.#byLink.isExhausted(ids))
    );
  }
}

/** Maximum passwords that are remembered; those not used lately are verified again. */
const KNOWN_MAX = 10_000;

/**
 * Passwords that were right: visitors who enter one again need no other verification, so that
 * however often they do costs next to nothing. Only a hash of each is kept, with a key of this
 * process; a link's new password has another one.
 */
class KnownPasswords {
  readonly #key = randomBytes(32);
  readonly #known = new LRUCache<string, true>({ max: KNOWN_MAX });

  has(password: string, hash: string): boolean {
    return this.#known.get(this.#digest(password, hash)) === true;
  }

  add(password: string, hash: string): void {
    this.#known.set(this.#digest(password, hash), true);
  }

  #digest(password: string, hash: string): string {
    return createHmac("sha256", this.#key).update(`${hash}\n${password}`).digest("base64");
  }
}

/** An entry of the queue; `resolve` is called with whether it may proceed. */
type QueueEntry = { groups: AddressGroups; rank: number; resolve: (admitted: boolean) => void };

/** Admits {@link CONCURRENT_MAX} at a time: the lowest rank first, then the earliest. */
class VerificationQueue {
  /** Ordered by rank, equal ranks by arrival. */
  readonly #waiting: QueueEntry[] = [];
  #running = 0;

  /**
   * Waits for admission. Resolves with true when the caller may proceed, and must call `leave`
   * afterwards; with false when it is rejected. Each entry of the same site in the queue adds one
   * to the rank.
   */
  async enter(groups: AddressGroups, rank: number): Promise<boolean> {
    if (this.#running < CONCURRENT_MAX) {
      this.#running++;
      return true;
    }
    const waiting = this.#waiting;
    const sameSite = waiting.filter((other) => other.groups.site === groups.site);
    const sameNetwork = sameSite.filter((other) => other.groups.network === groups.network);
    if (sameNetwork.length >= WAITING_PER_NETWORK_MAX) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const entry = { groups, rank: rank + sameSite.length, resolve };
    const index = waiting.findIndex((other) => other.rank > entry.rank);
    waiting.splice(index < 0 ? waiting.length : index, 0, entry);
    if (waiting.length > WAITING_MAX) waiting.pop()?.resolve(false);
    return await promise;
  }

  leave(): void {
    const next = this.#waiting.shift();
    // The next entry takes over the slot, so the number of those running stays the same.
    if (next === undefined) this.#running--;
    else next.resolve(true);
  }
}
