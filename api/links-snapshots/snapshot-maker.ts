/**
 * Makes snapshots: the first one, one a day, one of each term, one when the tail has become long,
 * which is truncated behind those that are kept. A host that can use none of these asks for a term.
 * Each API process looks whether one is due; one of them makes it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JetStreamClient, JetStreamManager, Subscription } from "nats";

import { emptyIfDamaged } from "../../shared/contracts/streams.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { planTerm } from "../../shared/links-log/entries.ts";
import type { LogVerifier } from "../../shared/links-log/signature.ts";
import {
  decodeSnapshotRequest,
  ensureSnapshotsStream,
  findStarts,
  firstKept,
  listSnapshots,
  listSubjects,
  manifestSubject,
  SNAPSHOT_REQUESTS,
  SNAPSHOT_REQUESTS_QUEUE,
  SNAPSHOTS_STREAM,
  type StoredSnapshot,
} from "../../shared/links-log/snapshots.ts";
import { isLongTail, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { STORE_FORMAT } from "../../shared/links-store/schema.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { spawnWorker } from "../../shared/worker-thread.ts";
import { type LogHead, numberLog } from "../links-log/log.ts";
import type { LinksLogPublisher, LogContext } from "../links-log/publisher.ts";
import { type Sql, type Transaction, tryToLock } from "../postgres.ts";
import { removeOldSnapshots, type SnapshotContents, storeSnapshot } from "./snapshot.ts";
import type { BuildCommand, BuildResult } from "./snapshot.worker.ts";

const REQUEST_TIMEOUT_MS = 5_000;

/** How often a new term, or the first entry, is looked for, and how often age and tail are. */
const POLL_MS = 500;
const CHECK_MS = 30_000;

/**
 * Pause after all links were read in vain for a snapshot, and before another one for the same long
 * tail; and after it could not be seen whether one is due.
 */
const RETRY_MS = 60_000;
const RETRY_UNREAD_MS = 5_000;

/** Pause after a request was looked at; others meanwhile are dropped, as hosts ask again. */
const REQUEST_PAUSE_MS = 1_000;

/** An older snapshot shows that new ones cannot be made. */
const OVERDUE_MS = 2 * DAY_MS;

/** Says that the last snapshot is too old; undefined for a recent one. */
export function describeSnapshot(storedAt: Date | undefined): string | undefined {
  if (storedAt === undefined) return "there is no snapshot of the links";
  const age = Date.now() - storedAt.getTime();
  if (age < OVERDUE_MS) return undefined;
  return `the last snapshot of the links is ${Math.floor(age / DAY_MS)} days old`;
}

export class SnapshotMaker {
  readonly #context: LogContext;
  readonly #publisher: LinksLogPublisher;
  readonly #databaseUrl: string;
  /** Ends what the thread builds. */
  readonly #stopped = Promise.withResolvers<undefined>();
  /** The newest snapshot of the last check, and when that was. */
  #newest: StoredSnapshot | undefined;
  #checkedAt = -Infinity;
  /** Whether the check under way has read the links for a snapshot. */
  #hasRead = false;
  #failure: string | undefined;
  #hasStrangers = false;
  /** Until when requests are dropped; for ever while one is looked at. */
  #busyUntil = -Infinity;
  /** Requests of hosts, by what came of them. */
  readonly requests = { answered: 0, ignored: 0, malformed: 0 };
  #isStopped = false;
  #subscription: Subscription | undefined;
  #checks: Repetition | undefined;

  constructor(context: LogContext, publisher: LinksLogPublisher, databaseUrl: string) {
    this.#context = context;
    this.#publisher = publisher;
    this.#databaseUrl = databaseUrl;
    void this.#begin();
  }

  /** When the newest snapshot was stored; undefined while unknown, or when there is none. */
  get storedAt(): Date | undefined {
    return this.#newest?.storedAt;
  }

  /** Why there is no recent snapshot; undefined when there is one. */
  get problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure;
    return this.#newest === undefined ? undefined : describeSnapshot(this.#newest.storedAt);
  }

  /** Says that others store snapshots; undefined when they do not. */
  get warning(): string | undefined {
    return this.#hasStrangers
      ? `${SNAPSHOTS_STREAM} has a snapshot that no API process signed`
      : undefined;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#subscription?.unsubscribe();
    this.#stopped.resolve(undefined);
    await this.#checks?.stop();
  }

  async #begin(): Promise<void> {
    const connection = await this.#context.nats.connection;
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    if (this.#isStopped) return;
    this.#subscription = connection.subscribe(SNAPSHOT_REQUESTS, {
      queue: SNAPSHOT_REQUESTS_QUEUE,
      callback: (_, { data }) => void this.#receive(data),
    });
    this.#checks = repeat(() => this.#check(connection.jetstream(options), manager));
  }

  async #check(client: JetStreamClient, manager: JetStreamManager): Promise<number> {
    this.#hasRead = false;
    try {
      await this.#makeDue(client, manager);
      return POLL_MS;
    } catch (error) {
      this.#fail(error);
      return this.#hasRead ? RETRY_MS : RETRY_UNREAD_MS;
    }
  }

  #fail(error: unknown): void {
    this.#context.log.warn({ error }, "links_snapshot_failed");
    const reason = error instanceof Error ? error.message : String(error);
    this.#failure = `no snapshot of the links can be made: ${reason}`;
    // The next check says whether that still is so.
    this.#checkedAt = -Infinity;
  }

  /**
   * Makes a snapshot if one is due, unless another process does, or has, and truncates the tail
   * behind those that are kept. Most calls only compare terms.
   */
  async #makeDue(client: JetStreamClient, manager: JetStreamManager): Promise<void> {
    const { head, isSilent } = this.#publisher;
    if (head === undefined || isSilent) return;
    const isOfTerm = this.#newest !== undefined && isUsable(this.#newest, head);
    if (isOfTerm && performance.now() - this.#checkedAt < CHECK_MS) return;
    if (await this.#isDue(manager, head)) {
      const { sql, signer, replicas, log } = this.#context;
      await ensureSnapshotsStream(manager, replicas);
      await sql.begin(async (lock) => {
        if (!(await lockSnapshot(lock)) || !(await this.#isDue(manager, head))) return;
        await emptyIfDamaged(manager, SNAPSHOTS_STREAM, log);
        await this.#store(client);
        await removeOldSnapshots(manager, signer);
        await truncate(manager, signer);
      });
      this.#checkedAt = -Infinity;
    }
    this.#failure = undefined;
  }

  async #isDue(manager: JetStreamManager, head: LogHead): Promise<boolean> {
    const stored = await listSnapshots(manager, this.#context.signer);
    const subjects = await listSubjects(manager, manifestSubject("*"));
    this.#hasStrangers = subjects.length > stored.length;
    const newest = stored.findLast((snapshot) => isUsable(snapshot, head));
    this.#newest = newest;
    this.#checkedAt = performance.now();
    if (newest === undefined) return true;
    const age = Date.now() - newest.storedAt.getTime();
    return age >= DAY_MS || (age >= RETRY_MS && (await isLongTail(manager)));
  }

  async #receive(data: Uint8Array): Promise<void> {
    const asked = decodeSnapshotRequest(data);
    if (asked === undefined) return void this.requests.malformed++;
    if (this.#isStopped || performance.now() < this.#busyUntil) return void this.requests.ignored++;
    this.#busyUntil = Infinity;
    try {
      this.requests[(await this.#answer(asked)) ? "answered" : "ignored"]++;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#busyUntil = performance.now() + REQUEST_PAUSE_MS;
    }
  }

  /**
   * Begins a term for a host that does not get on, of which there will be a snapshot. Returns false
   * while there is none of this term, and when hosts were answered a moment ago.
   */
  async #answer(asked: number): Promise<boolean> {
    const head = await numberLog(this.#context.sql);
    if (this.#newest === undefined || !isUsable(this.#newest, head)) return false;
    const above = planTerm(asked, head);
    if (above === undefined || !(await claimAnswer(this.#context.sql))) return false;
    this.#context.log.warn({ term: above + 1 }, "links_log_term_asked_for");
    await numberLog(this.#context.sql, { above });
    return true;
  }

  async #store(client: JetStreamClient): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
    this.#hasRead = true;
    try {
      const path = join(folder, "links.sqlite");
      const contents = await this.#build(path);
      if (contents === undefined) return;
      // A host can use it only once its end is in the tail.
      if (!(await this.#publisher.publish())) throw new Error("The links log is not published.");
      const name = await storeSnapshot(client, this.#context.signer, path, contents);
      this.#context.log.info({ name, links: contents.links }, "links_snapshot_stored");
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** Builds the file in a thread, so that no request waits for that; undefined when stopped. */
  async #build(path: string): Promise<SnapshotContents | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<SnapshotContents>();
    const worker = spawnWorker("api/links-snapshots/snapshot.worker.ts");
    worker.addEventListener("message", ({ data }: MessageEvent<BuildResult>) =>
      "failure" in data ? reject(new Error(data.failure)) : resolve(data),
    );
    worker.addEventListener("error", (event) => reject(event.error ?? new Error(event.message)));
    const command: BuildCommand = { databaseUrl: this.#databaseUrl, path };
    worker.postMessage(command);
    try {
      return await Promise.race([promise, this.#stopped.promise]);
    } finally {
      worker.terminate();
    }
  }
}

/** Whether hosts of this term can take a snapshot. */
const isUsable = ({ manifest }: StoredSnapshot, { database, term }: LogHead): boolean =>
  manifest.format === STORE_FORMAT &&
  manifest.database === database &&
  manifest.start.term === term;

/** Takes the lock for a snapshot until the transaction ends; false when another process has it. */
export const lockSnapshot = (transaction: Transaction): Promise<boolean> =>
  tryToLock(transaction, "links_snapshot");

/** How often hosts that ask for a snapshot are answered at most, by all processes together. */
const ANSWERED_EVERY = "1 minute";

/** Whether a host that asks for a snapshot may be answered now; then no other one for a while. */
async function claimAnswer(sql: Sql): Promise<boolean> {
  const { count } = await sql`
    update link_log_head set answered_at = now()
     where answered_at is null or answered_at not between now() - ${ANSWERED_EVERY}::interval and now()`;
  return count > 0;
}

/** Removes entries from the tail that no host needs which takes a snapshot. */
async function truncate(manager: JetStreamManager, verifier: LogVerifier): Promise<void> {
  const manifests = (await listSnapshots(manager, verifier)).map(({ manifest }) => manifest);
  const starts = await findStarts(manager, verifier, manifests);
  const first = firstKept(manifests, ({ hash }) => starts.get(hash));
  if (first !== undefined) await manager.streams.purge(LINK_LOG_STREAM, { seq: first });
}
