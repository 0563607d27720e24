/**
 * The store of a host, and the snapshot that replaces it when it lacks entries. A snapshot's store
 * follows the log beside it, in a folder of its own, until it is at the head: so nobody sees an
 * older state than before. A file says which folder is the host's, as SQLite must not get another
 * file under the name of an open one.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { JetStreamManager } from "nats";

import { type Candidate, judgeCandidate, lacksEntries } from "../../shared/links-log/decisions.ts";
import { listSnapshots, type StoredSnapshot } from "../../shared/links-log/snapshot-stream.ts";
import { chooseSnapshot, toCandidate } from "../../shared/links-log/snapshot.ts";
import { findInTail } from "../../shared/links-log/tail.ts";
import type { LogState } from "../../shared/links-store/log-state.ts";
import { STORE_FORMAT } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { LogFollower } from "./log-follower.ts";
import { LogStore } from "./log-store.ts";
import { readSnapshot } from "./snapshot-reader.ts";
import { damageMarkPath, findStore, makeFolder, storePath } from "./store-files.ts";

/** How often the store, or what may replace it, is looked at. */
const POLL_MS = 50;

/** Pause after there was no snapshot, and after one could not be read. */
const RETRY_MS = 1_000;

/** Maximum time of a request to JetStream. */
const REQUEST_TIMEOUT_MS = 500;

const POINTER = "current";

/** Folders of stores: the first one, and those that are named after their snapshot. */
const FOLDER = /^(?:0|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The folder of the host's store, in the folder of all of them. */
export const currentFolder = (dir: string): string => {
  const pointer = join(dir, POINTER);
  return join(dir, existsSync(pointer) ? readFileSync(pointer, "utf8") : "0");
};

/** A store and what writes it. */
type Followed = { dir: string; store: LogStore; follower: LogFollower };

export class HostLog {
  readonly #dir: string;
  readonly #nats: Nats;
  readonly #ask: (state: LogState) => void;
  readonly #log: Log;
  #current: Followed;
  /** Snapshots that were of no use. */
  readonly #dropped = new Set<string>();
  /** The folder of a snapshot's store that could not be written. */
  #failed: string | undefined;
  #isStopped = false;
  readonly #ended = Promise.withResolvers<void>();
  readonly #running: Promise<void>;

  /** Calls `ask` while the store needs a snapshot and there is none. */
  constructor(dir: string, nats: Nats, ask: (state: LogState) => void, log: Log) {
    this.#dir = dir;
    this.#nats = nats;
    this.#ask = ask;
    this.#log = log;
    makeFolder(dir);
    this.#removeOthers();
    this.#current = this.#follow(currentFolder(dir));
    this.#running = this.#run();
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
      if (!lacksEntries(this.state) || !this.#nats.connected()) continue;
      try {
        await this.#replace(manager);
      } catch (error) {
        this.#log.warn({ error }, "links_snapshot_failed");
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  /** Takes a snapshot, and replaces the store with it once it is at the head. */
  async #replace(manager: JetStreamManager): Promise<void> {
    const snapshot = await this.#choose(manager);
    if (snapshot === undefined) {
      this.#ask(this.state);
      await Bun.sleep(RETRY_MS);
      return;
    }
    const candidate = await this.#take(snapshot).catch((error: unknown) => {
      // One that is not what was stored is not read again and again.
      if (this.#nats.connected()) this.#dropped.add(snapshot.name);
      throw error;
    });
    const isAtHead = await this.#waitForHead(candidate, toCandidate(snapshot.manifest));
    if (isAtHead) return await this.#swap(candidate);
    this.#dropped.add(snapshot.name);
    await close(candidate);
    rmSync(candidate.dir, { recursive: true });
  }

  async #choose(manager: JetStreamManager): Promise<StoredSnapshot | undefined> {
    const stored = (await listSnapshots(manager)).filter(
      ({ name, manifest }) => manifest.format === STORE_FORMAT && !this.#dropped.has(name),
    );
    const continued = new Set<string>();
    for (const { manifest } of stored)
      if ((await findInTail(manager, manifest.start)) !== undefined)
        continued.add(manifest.start.hash);
    const manifests = stored.map(({ manifest }) => manifest);
    const chosen = chooseSnapshot(manifests, this.state, ({ hash }) => continued.has(hash));
    return stored.find(({ manifest }) => manifest === chosen);
  }

  /** Reads a snapshot into a folder of its own, and follows the log from there. */
  async #take(snapshot: StoredSnapshot): Promise<Followed> {
    const dir = join(this.#dir, snapshot.name);
    rmSync(dir, { recursive: true, force: true });
    makeFolder(dir);
    const connection = await this.#nats.connection;
    await readSnapshot(connection, this.#nats.inboxPrefix, snapshot, storePath(dir));
    const followed = this.#follow(dir, snapshot);
    if (followed.store.state.head.hash === snapshot.manifest.start.hash) return followed;
    await close(followed);
    throw new Error(`The snapshot ${snapshot.name} does not end where its manifest says.`);
  }

  #follow(dir: string, snapshot?: StoredSnapshot): Followed {
    const store = new LogStore(dir);
    const inode = findStore(dir)?.inode;
    const check = () => checkStore(dir, inode);
    const end = snapshot?.manifest.end;
    const follower = new LogFollower(this.#nats, store, check, this.#log, end);
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
      const verdict = judgeCandidate(judged, this.state, follower.end);
      if (verdict !== "follow") return verdict === "swap";
      await Bun.sleep(POLL_MS);
    }
    return false;
  }

  async #swap(candidate: Followed): Promise<void> {
    const before = this.#current;
    const pointer = join(this.#dir, POINTER);
    writeFileSync(`${pointer}.new`, candidate.dir.slice(this.#dir.length + 1), { flush: true });
    renameSync(`${pointer}.new`, pointer);
    this.#current = candidate;
    this.#log.info({ links: candidate.store.state.links }, "links_store_replaced");
    await close(before);
    rmSync(before.dir, { recursive: true });
  }

  /** Removes what a process left that ended while it took a snapshot, or replaced a store. */
  #removeOthers(): void {
    const current = currentFolder(this.#dir);
    for (const name of readdirSync(this.#dir))
      if (FOLDER.test(name) && join(this.#dir, name) !== current)
        rmSync(join(this.#dir, name), { recursive: true });
  }
}

/** Throws when a store was deleted, or was found damaged: then it must not be written any more. */
function checkStore(dir: string, inode: number | undefined): void {
  if (existsSync(damageMarkPath(dir))) throw new Error("The links store is damaged.");
  if (findStore(dir)?.inode !== inode) throw new Error("The links store was deleted.");
}

async function close({ store, follower }: Followed): Promise<void> {
  await follower.stop();
  store[Symbol.dispose]();
}
