/**
 * The store of a host, and the snapshot that replaces it when it lacks entries. A snapshot's store
 * follows the log beside it, in a folder of its own, until it is at the head: so nobody sees an
 * older state than before.
 */
import { rmSync } from "node:fs";
import { basename } from "node:path";

import type { NatsConnection } from "nats";

import { SHORT_REQUESTS } from "../../shared/contracts/streams.ts";
import { type Head, judgeCandidate, lacksEntries } from "../../shared/links-log/entries.ts";
import {
  chooseSnapshot,
  encodeSnapshotRequest,
  findStarts,
  listSnapshots,
  SNAPSHOT_REQUESTS,
  type StoredSnapshot,
} from "../../shared/links-log/snapshots.ts";
import { type LogState, STORE_FORMAT } from "../../shared/links-store/schema.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { LogFollower, type LogSource } from "./log-follower.ts";
import { BrokenSnapshotError, NoRoomError, readSnapshot } from "./snapshot-reader.ts";
import {
  currentFolder,
  makeFolder,
  newFolder,
  otherFormats,
  removeOtherFolders,
  setCurrentFolder,
  storePath,
} from "./store-files.ts";
import { LogStore } from "./store.ts";

/** How often the store, or what may replace it, is looked at. */
const POLL_MS = 50;

/** Pause after there was no snapshot, and after one could not be read. */
const RETRY_MS = 1_000;

/** Pause after there was no room for a snapshot: each attempt writes as much as there is. */
const NO_ROOM_RETRY_MS = 60_000;

/**
 * How long a store may be at the end of the tail without its last entry: for a moment that is so
 * while publishers begin a term.
 */
const STRAYED_MS = 3_000;

/** Snapshots that were of no use and are remembered; more are stored only over days. */
const DROPPED_MAX = 1_000;

export class HostLog {
  readonly #dir: string;
  readonly #source: LogSource;
  #current: LogFollower;
  readonly #dropped = new Set<string>();
  /** Since when the store has been at the end of the tail without its last entry. */
  #strayedAt: number | undefined;
  readonly #stopping = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly #rounds: Repetition;

  /** Opens the store, whose lock the caller has; throws as {@link LogStore} does. */
  constructor(dir: string, source: LogSource) {
    this.#dir = dir;
    this.#source = source;
    makeFolder(dir);
    removeOtherFolders(dir);
    const others = otherFormats(dir);
    if (others.length > 0)
      source.log.warn({ format: STORE_FORMAT, others }, "links_store_of_other_format");
    this.#current = this.#follow(currentFolder(dir));
    this.#rounds = repeat(() => this.#look());
  }

  get state(): LogState {
    return this.#current.store.state;
  }

  /** Settles when the host is stopped; rejects when its store is damaged or cannot be written. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds.stop();
    await this.#current.stop();
    this.#ended.resolve();
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Replaces the store if it needs that; returns the pause until the next look. */
  async #look(): Promise<number> {
    try {
      if (!this.#needsSnapshot() || !this.#source.nats.connected()) return POLL_MS;
      return await this.#replace().catch((error: unknown) => this.#reportFailure(error));
    } catch (error) {
      this.#ended.reject(error);
      return RETRY_MS;
    }
  }

  #reportFailure(error: unknown): number {
    if (this.#isStopped) return 0;
    this.#source.log.warn({ error }, "links_snapshot_failed");
    if (!isNoRoom(error)) return RETRY_MS;
    this.#waitFor("there is no room in LINKS_DIR for a snapshot beside it");
    return NO_ROOM_RETRY_MS;
  }

  /** Whether the store has no way to the head of the log; says so to operators, and why. */
  #needsSnapshot(): boolean {
    const { refused } = this.#current;
    const { database } = this.state;
    if (refused !== undefined) {
      this.#waitFor(
        `the links log is of the database ${refused}, and the links are of ${database}; confirm with: shorthop links adopt`,
      );
      return false;
    }
    if (lacksEntries(this.state) || this.#hasStrayed()) return true;
    this.#waitFor(null);
    return false;
  }

  /**
   * Whether the store is of a history that was lost, while the one that goes on is not later: it
   * skips everything, until a new term begins for it.
   */
  #hasStrayed(): boolean {
    const { end } = this.#current;
    const isAtHead = end?.isNew !== true || end.hash === this.state.head.hash;
    this.#strayedAt = isAtHead ? undefined : (this.#strayedAt ?? performance.now());
    return this.#strayedAt !== undefined && performance.now() - this.#strayedAt >= STRAYED_MS;
  }

  #waitFor(obstacle: string | null): void {
    this.#current.store.setObstacle(obstacle);
  }

  /** Takes a snapshot, and replaces the store with it once it is at the head. */
  async #replace(): Promise<number> {
    const connection = await this.#source.nats.connection;
    const snapshot = lacksEntries(this.state) ? await this.#choose(connection) : undefined;
    if (snapshot === undefined) {
      this.#waitFor(
        `it waits for a snapshot of format ${STORE_FORMAT}, which an API process makes`,
      );
      const { term } = this.state.written;
      connection.publish(SNAPSHOT_REQUESTS, encodeSnapshotRequest(term));
      return RETRY_MS;
    }
    const candidate = await this.#take(snapshot).catch((error: unknown) => {
      // One that is not what was stored is not read again and again.
      if (error instanceof BrokenSnapshotError) this.#drop(snapshot.name);
      throw error;
    });
    try {
      if (await this.#swapAtHead(candidate)) return POLL_MS;
    } finally {
      if (candidate !== this.#current) await remove(candidate);
    }
    if (candidate.hasFailed) throw new NoRoomError("A snapshot's store is not written.");
    if (!this.#isStopped) this.#drop(snapshot.name);
    return POLL_MS;
  }

  #drop(name: string): void {
    if (this.#dropped.size >= DROPPED_MAX) this.#dropped.clear();
    this.#dropped.add(name);
  }

  /** Chooses the snapshot to take; undefined when the host has to ask for one. */
  async #choose(connection: NatsConnection): Promise<StoredSnapshot | undefined> {
    const manager = await connection.jetstreamManager(SHORT_REQUESTS);
    const { verifier } = this.#source;
    const stored = (await listSnapshots(manager, verifier)).filter(
      ({ name, manifest }) => manifest.format === STORE_FORMAT && !this.#dropped.has(name),
    );
    const manifests = stored.map(({ manifest }) => manifest);
    const starts = await findStarts(manager, verifier, manifests);
    const chosen = chooseSnapshot(manifests, this.state, ({ hash }) => starts.has(hash));
    return stored.find(({ manifest }) => manifest === chosen);
  }

  /** Reads a snapshot into a folder of its own, and follows the log from there. */
  async #take(snapshot: StoredSnapshot): Promise<LogFollower> {
    const { name, manifest } = snapshot;
    // Not named after the snapshot: the host's store may have been made from the same one.
    const dir = newFolder(this.#dir);
    try {
      makeFolder(dir);
      await readSnapshot(this.#source.nats, snapshot, storePath(dir), {
        signal: this.#stopping.signal,
        onPercent: (percent) =>
          this.#waitFor(`a snapshot of ${manifest.links} links is read: ${percent} %`),
      });
    } catch (error) {
      rmSync(dir, { recursive: true, force: true });
      throw error;
    }
    const follower = this.#follow(dir, manifest.end);
    if (follower.store.state.head.hash === manifest.start.hash) return follower;
    await remove(follower);
    throw new BrokenSnapshotError(`The snapshot ${name} does not end where its manifest says.`);
  }

  /** Follows the log with a store; with the end of the snapshot that it was made from, if any. */
  #follow(dir: string, end?: Head): LogFollower {
    const follower = new LogFollower(this.#source, new LogStore(dir), end);
    follower.ended.catch((error: unknown) => {
      if (follower === this.#current) this.#ended.reject(error);
    });
    return follower;
  }

  /** Replaces the store by a snapshot's once that is at the head; false if it is of no use. */
  async #swapAtHead(follower: LogFollower): Promise<boolean> {
    const { store } = follower;
    while (!this.#isStopped && lacksEntries(this.state) && !follower.hasFailed) {
      const candidate = { store: store.state, hasEnd: follower.hasAwaited };
      // Until all of the tail was read, an end that is not new is that of a part of it.
      const isRead = follower.end?.isNew === true || store.state.pending === 0;
      const verdict = judgeCandidate(candidate, this.state, isRead ? follower.end : undefined);
      if (verdict === "drop") return false;
      if (verdict === "swap") {
        await this.#swap(follower);
        return true;
      }
      this.#waitFor(`a snapshot was read, and ${store.state.pending} changes are to follow`);
      await Bun.sleep(POLL_MS);
    }
    return false;
  }

  /** In the turn of the verdict: the store of before must not be written further than that. */
  async #swap(candidate: LogFollower): Promise<void> {
    const before = this.#current;
    setCurrentFolder(this.#dir, basename(candidate.store.dir));
    this.#current = candidate;
    this.#source.log.info({ links: candidate.store.state.links }, "links_store_replaced");
    await remove(before);
  }
}

/** What the system and SQLite say of a full disk. */
const FULL = new Set(["ENOSPC", "SQLITE_FULL"]);

const isNoRoom = (error: unknown): boolean =>
  error instanceof NoRoomError ||
  (error instanceof Error && "code" in error && FULL.has(String(error.code)));

/** Ends a follower and removes its store. */
async function remove(follower: LogFollower): Promise<void> {
  await follower.stop();
  rmSync(follower.store.dir, { recursive: true });
}
