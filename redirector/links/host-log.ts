/**
 * The store of a host, and the snapshot that replaces it when it lacks entries. A snapshot's store
 * follows the log beside it, in a folder of its own, until it is at the head: so nobody sees an
 * older state than before.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";

import type { JetStreamManager } from "nats";

import { newUuid } from "../../shared/ids.ts";
import { type Candidate, judgeCandidate, lacksEntries } from "../../shared/links-log/decisions.ts";
import type { LogVerifier } from "../../shared/links-log/signature.ts";
import {
  chooseSnapshot,
  encodeSnapshotRequest,
  listSnapshots,
  SNAPSHOT_REQUESTS,
  type StoredSnapshot,
  toCandidate,
} from "../../shared/links-log/snapshots.ts";
import { findInTail } from "../../shared/links-log/tail.ts";
import type { LogState } from "../../shared/links-store/log-state.ts";
import { STORE_FORMAT } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { LogFollower, type SkippedReason } from "./log-follower.ts";
import { LogStore, RESERVE_BYTES } from "./log-store.ts";
import { BrokenSnapshotError, NoRoomError, SnapshotReader } from "./snapshot-reader.ts";
import {
  currentFolder,
  makeFolder,
  removeOtherFolders,
  setCurrentFolder,
  storePath,
} from "./store-files.ts";

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

/** Maximum time of a request to JetStream. */
const REQUEST_TIMEOUT_MS = 500;

/** Snapshots that were of no use and are remembered; more are stored only over days. */
const DROPPED_MAX = 1_000;

/** Events of the thread of the log, for the process. */
export type LogEvents = {
  /** Rows of the store have changed. */
  changed(): void;
  /** A state, or a message, was skipped. */
  skipped(reason: SkippedReason): void;
};

/** A store and what writes it. */
type Followed = { dir: string; store: LogStore; follower: LogFollower };

export class HostLog {
  readonly #dir: string;
  readonly #nats: Nats;
  readonly #verifier: LogVerifier;
  readonly #events: LogEvents;
  readonly #log: Log;
  #current: Followed;
  /** Snapshots that were of no use. */
  readonly #dropped = new Set<string>();
  /** The folder of a snapshot's store that could not be written. */
  #failed: string | undefined;
  /** Since when the store has been at the end of the tail without its last entry. */
  #strayedAt: number | undefined;
  #reader: SnapshotReader | undefined;
  #isStopped = false;
  readonly #ended = Promise.withResolvers<void>();
  readonly #running: Promise<void>;

  /** Opens the store, whose lock the caller has; throws as {@link LogStore} does. */
  constructor(dir: string, nats: Nats, verifier: LogVerifier, events: LogEvents, log: Log) {
    this.#dir = dir;
    this.#nats = nats;
    this.#verifier = verifier;
    this.#events = events;
    this.#log = log;
    makeFolder(dir);
    removeOtherFolders(dir);
    this.#current = this.#follow(currentFolder(dir));
    this.#running = this.#run().catch((error: unknown) => this.#ended.reject(error));
  }

  /** What the host's store has of the log. */
  get state(): LogState {
    return this.#current.store.state;
  }

  /** Settles when the host is stopped; rejects when its store is damaged or cannot be written. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#reader?.stop();
    await this.#running;
    await close(this.#current);
    this.#ended.resolve();
  }

  async #run(): Promise<void> {
    const connection = await this.#nats.connection;
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    while (!this.#isStopped) {
      await Bun.sleep(POLL_MS);
      if (!this.#needsSnapshot() || !this.#nats.connected()) continue;
      try {
        await this.#replace(manager);
      } catch (error) {
        if (this.#isStopped) return;
        this.#log.warn({ error }, "links_snapshot_failed");
        const hasRoom = !(error instanceof NoRoomError);
        if (!hasRoom) this.#waitFor("there is no room in LINKS_DIR for a snapshot beside it");
        await this.#pause(hasRoom ? RETRY_MS : NO_ROOM_RETRY_MS);
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (!this.#isStopped && performance.now() < end) await Bun.sleep(POLL_MS);
  }

  /** Whether the store has no way to the head of the log; says so to operators, and why. */
  #needsSnapshot(): boolean {
    const { refused } = this.#current.follower;
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
    const { end } = this.#current.follower;
    const isAtHead = end?.isNew !== true || end.hash === this.state.head.hash;
    this.#strayedAt = isAtHead ? undefined : (this.#strayedAt ?? performance.now());
    return this.#strayedAt !== undefined && performance.now() - this.#strayedAt >= STRAYED_MS;
  }

  #waitFor(obstacle: string | null): void {
    this.#current.store.setObstacle(obstacle);
  }

  /** Takes a snapshot, and replaces the store with it once it is at the head. */
  async #replace(manager: JetStreamManager): Promise<void> {
    const snapshot = lacksEntries(this.state) ? await this.#choose(manager) : undefined;
    if (snapshot === undefined) {
      this.#waitFor("it waits for a snapshot, which an API process makes");
      await this.#ask();
      return await this.#pause(RETRY_MS);
    }
    const candidate = await this.#take(snapshot).catch((error: unknown) => {
      // One that is not what was stored is not read again and again.
      if (error instanceof BrokenSnapshotError) this.#drop(snapshot.name);
      throw error;
    });
    const isAtHead = await this.#waitForHead(candidate, toCandidate(snapshot.manifest));
    if (isAtHead) return await this.#swap(candidate);
    await close(candidate);
    rmSync(candidate.dir, { recursive: true });
    if (this.#failed === candidate.dir) throw new NoRoomError("A snapshot's store is not written.");
    if (!this.#isStopped) this.#drop(snapshot.name);
  }

  #drop(name: string): void {
    if (this.#dropped.size >= DROPPED_MAX) this.#dropped.clear();
    this.#dropped.add(name);
  }

  async #ask(): Promise<void> {
    const connection = await this.#nats.connection;
    connection.publish(SNAPSHOT_REQUESTS, encodeSnapshotRequest(this.state.written.term));
  }

  async #choose(manager: JetStreamManager): Promise<StoredSnapshot | undefined> {
    const stored = (await listSnapshots(manager, this.#verifier)).filter(
      ({ name, manifest }) => manifest.format === STORE_FORMAT && !this.#dropped.has(name),
    );
    const continued = new Set<string>();
    for (const { manifest } of stored)
      if ((await findInTail(manager, this.#verifier, manifest.start)) !== undefined)
        continued.add(manifest.start.hash);
    const manifests = stored.map(({ manifest }) => manifest);
    const chosen = chooseSnapshot(manifests, this.state, ({ hash }) => continued.has(hash));
    return stored.find(({ manifest }) => manifest === chosen);
  }

  /** Reads a snapshot into a folder of its own, and follows the log from there. */
  async #take(snapshot: StoredSnapshot): Promise<Followed> {
    const { name, manifest } = snapshot;
    // Not named after the snapshot: the host's store may have been made from the same one.
    const dir = join(this.#dir, newUuid());
    this.#failed = undefined;
    try {
      makeFolder(dir);
      await this.#read(snapshot, storePath(dir));
    } catch (error) {
      rmSync(dir, { recursive: true, force: true });
      throw error;
    }
    const followed = this.#follow(dir, snapshot);
    if (followed.store.state.head.hash === manifest.start.hash) return followed;
    await close(followed);
    throw new BrokenSnapshotError(`The snapshot ${name} does not end where its manifest says.`);
  }

  async #read(snapshot: StoredSnapshot, path: string): Promise<void> {
    const reader = new SnapshotReader(this.#nats, snapshot);
    this.#reader = reader;
    const { links } = snapshot.manifest;
    const reading = reader.readTo(path);
    try {
      while (!(await isDoneWithin(reading, RETRY_MS)))
        this.#waitFor(`a snapshot of ${links} links is read: ${reader.percent} %`);
    } finally {
      reader.stop();
      this.#reader = undefined;
    }
  }

  #follow(dir: string, snapshot?: StoredSnapshot): Followed {
    const store = new LogStore(dir, RESERVE_BYTES, this.#events.changed);
    const onSkipped = (reason: SkippedReason): void => {
      if (dir === this.#current.dir) this.#events.skipped(reason);
    };
    const [nats, verifier, end] = [this.#nats, this.#verifier, snapshot?.manifest.end];
    const follower = new LogFollower(nats, verifier, store, this.#log, onSkipped, end);
    follower.ended.catch((error: unknown) => this.#fail(dir, error));
    return { dir, store, follower };
  }

  #fail(dir: string, error: unknown): void {
    if (dir === this.#current.dir) this.#ended.reject(error);
    else this.#failed = dir;
  }

  /** Whether a snapshot's store may replace the host's, as it is at the head. */
  async #waitForHead({ dir, store, follower }: Followed, candidate: Candidate): Promise<boolean> {
    while (!this.#isStopped && lacksEntries(this.state) && this.#failed !== dir) {
      const judged = { ...candidate, store: store.state, hasEnd: follower.hasAwaited };
      // Until all of the tail was read, an end that is not new is that of a part of it.
      const isRead = follower.end?.isNew === true || store.state.pending === 0;
      const verdict = judgeCandidate(judged, this.state, isRead ? follower.end : undefined);
      if (verdict !== "follow") return verdict === "swap";
      this.#waitFor(`a snapshot was read, and ${store.state.pending} changes are to follow`);
      await Bun.sleep(POLL_MS);
    }
    return false;
  }

  async #swap(candidate: Followed): Promise<void> {
    const before = this.#current;
    setCurrentFolder(this.#dir, candidate.dir.slice(this.#dir.length + 1));
    this.#current = candidate;
    this.#log.info({ links: candidate.store.state.links }, "links_store_replaced");
    this.#events.changed();
    await close(before);
    rmSync(before.dir, { recursive: true });
  }
}

/** Whether work is done within some time; rejects when it fails. */
const isDoneWithin = (work: Promise<void>, ms: number): Promise<boolean> =>
  Promise.race([work.then(() => true), Bun.sleep(ms).then(() => false)]);

async function close({ store, follower }: Followed): Promise<void> {
  await follower.stop();
  store[Symbol.dispose]();
}
