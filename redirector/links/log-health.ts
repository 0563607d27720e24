/**
 * Whether the links of this host are up to date with the links log, and for how long that has been
 * unknown.
 */
import {
  EMPTY_LOG,
  hasAllLinks,
  isPrefix,
  type LogState,
  type SkippedReason,
} from "../../shared/links-store/schema.ts";

/**
 * How long a redirector that has every link waits for the log before it counts as ready without
 * it.
 */
const START_GRACE_MS = 10_000;

/**
 * After this long without an entry, the number of missing ones is unknown: several heartbeats are
 * missing, of one every two seconds.
 */
const SILENT_SECONDS = 8;

/** The same threshold as the alert ShorthopFeedStale: many heartbeats are missing. */
const AGE_WARNING_SECONDS = 30;

/**
 * How long a store that lacks links may get no further: longer than a snapshot of ten million links
 * takes that is asked for, and that another one was made just before.
 */
const STALLED_SECONDS = 180;

/** How long a message that was ignored is reported. */
const IGNORED_REPORTED_MS = 600_000;

/** Why messages are ignored, for operators. */
const IGNORED: Readonly<Record<SkippedReason, string | undefined>> = {
  malformed: undefined,
  unsigned: "no key of LINKS_PUBLIC_KEYS signed them",
  other_format: "they have a format that this version does not read",
};

const REASONS: readonly SkippedReason[] = ["malformed", "unsigned", "other_format"];

const POLL_MS = 10;

export class LogHealth {
  readonly #now: () => number;
  readonly #startedAt: number;
  #state = EMPTY_LOG;
  /** When the store last had another entry. */
  #entryAt: number;
  /** When a store that lacks links last got further. */
  #progressAt: number;
  /** Whether the store has been up to date with the log since the start. */
  #wasCurrent = false;
  #wasReady = false;
  /** What was skipped since the start, by reason; why a message was ignored last, and when. */
  readonly skipped: Record<SkippedReason, number> = { ...EMPTY_LOG.skipped };
  #ignored: string | undefined;
  #ignoredAt = -Infinity;

  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
    this.#entryAt = this.#startedAt;
    this.#progressAt = this.#startedAt;
  }

  /** Applies what the store has of the log; that of no store is empty. */
  onState(state: LogState): void {
    const before = this.#state;
    this.#state = state;
    // A store that is opened has its last entry from before.
    const isOpen = before.written.position > 0 && state.written.position > 0;
    if (isOpen && state.written.hash !== before.written.hash) this.#entryAt = this.#now();
    // A store that lacks entries gets later ones as well, but no further by them.
    if (isPrefix(state) || state.obstacle !== before.obstacle) this.#progressAt = this.#now();
    // What a store has skipped before it was opened is no news.
    if (before !== EMPTY_LOG) this.#countSkipped(before, state);
  }

  onCurrent(): void {
    this.#wasCurrent = true;
  }

  /** Says that strangers or other versions write to the tail; undefined when they do not. */
  ignoredWarning(): string | undefined {
    if (this.#now() - this.#ignoredAt > IGNORED_REPORTED_MS) return undefined;
    return `messages of the links log are ignored, as ${this.#ignored}`;
  }

  /** Seconds since the last entry was written; since the start when there was none. */
  ageSeconds(): number {
    return (this.#now() - this.#entryAt) / 1_000;
  }

  /** Messages of the tail that are not in the store; undefined while that is unknown. */
  lag(): number | undefined {
    return this.#wasCurrent && this.ageSeconds() < SILENT_SECONDS ? this.#state.pending : undefined;
  }

  complete(): boolean {
    return hasAllLinks(this.#state);
  }

  /**
   * `ok` after the store had every link and was up to date with the log, or could not be; else the
   * reason. A later outage of NATS does not matter: the store can still serve requests. A store
   * that lacks links and gets no more is not ready: what it lacks would be missing for ever.
   */
  readiness(): string {
    const waited = this.#now() - this.#startedAt >= START_GRACE_MS;
    this.#wasReady ||= this.complete() && (this.#wasCurrent || waited);
    return this.#describeStall() ?? (this.#wasReady ? "ok" : this.#describe());
  }

  /**
   * Resolves when the links of the host are ready; before that after `withinMs`, or after the store
   * has received nothing for `idleMs`.
   */
  async waitUntilReady({ withinMs, idleMs }: { withinMs: number; idleMs: number }) {
    const deadline = this.#now() + withinMs;
    let before = this.#state;
    let changedAt = this.#now();
    while (this.readiness() !== "ok" && this.#now() < Math.min(deadline, changedAt + idleMs)) {
      await Bun.sleep(POLL_MS);
      if (before === this.#state) continue;
      before = this.#state;
      changedAt = this.#now();
    }
  }

  /** Links of the host's store; undefined while it is not up to date. */
  get links(): number | undefined {
    return this.#state.isCurrent ? this.#state.links : undefined;
  }

  /** Why links may be outdated; undefined when they are current. */
  warning(): string | undefined {
    if (!this.complete())
      return `${this.#describe()}; the response for links that it does not have is 503`;
    const { obstacle } = this.#state;
    if (obstacle !== null) return `the store of this host may be outdated: ${obstacle}`;
    const age = Math.round(this.ageSeconds());
    if (this.#wasCurrent && age < AGE_WARNING_SECONDS) return undefined;
    return `${this.#describe()}; last confirmed ${age} s ago`;
  }

  #countSkipped(before: LogState, { skipped }: LogState): void {
    for (const reason of REASONS) {
      const more = skipped[reason] - before.skipped[reason];
      if (more <= 0) continue;
      this.skipped[reason] += more;
      if (IGNORED[reason] === undefined) continue;
      this.#ignored = IGNORED[reason];
      this.#ignoredAt = this.#now();
    }
  }

  #describe(): string {
    const { obstacle } = this.#state;
    if (!this.complete()) return `the store lacks links${obstacle === null ? "" : `: ${obstacle}`}`;
    return this.#wasCurrent ? "ok" : "not connected yet";
  }

  #describeStall(): string | undefined {
    const seconds = Math.round((this.#now() - this.#progressAt) / 1_000);
    return this.complete() || seconds < STALLED_SECONDS
      ? undefined
      : `${this.#describe()}; it has come no further for ${seconds} s`;
  }
}
