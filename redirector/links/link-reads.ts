/**
 * Reads links and notices for requests: from the host's store in their event loop turn, or in a
 * thread when the disk is slow. Requests need neither NATS nor the thread that fills the store,
 * except for an alias that the store lacks: its link may just have been created.
 */
import { CoalescedCalls } from "../../shared/coalesced-calls.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { isNotice } from "../../shared/contracts/notices.ts";
import { SHORT_REQUESTS } from "../../shared/contracts/streams.ts";
import { comparePositions, type Entry } from "../../shared/links-log/entries.ts";
import type { LogVerifier } from "../../shared/links-log/signature.ts";
import { TailReader } from "../../shared/links-log/tail.ts";
import { hasAllLinks, type LogState } from "../../shared/links-store/schema.ts";
import type { Nats } from "../../shared/nats.ts";
import { withTimeout } from "../../shared/timeout.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { HostLinks } from "./host-links.ts";
import { DiskSpeed, type SlowReads } from "./slow-reads.ts";

/**
 * Maximum time for the store to reach the last entry of the tail, and to know that it is the last
 * one: a follower that has just begun learns that from the next heartbeat.
 */
const CATCH_UP_TIMEOUT_MS = 3_000;

const RETRY_MS = 50;

export class LinkReads {
  readonly #host: HostLinks;
  readonly #cache: LinkCache;
  readonly #slowReads: SlowReads;
  readonly #nats: Nats;
  readonly #verifier: LogVerifier;
  readonly #disk = new DiskSpeed();
  readonly #counts = { direct: 0, slow: 0 };
  readonly #tailEnds = new CoalescedCalls<void, Entry>(() => this.#readTailEnd());
  #tail: TailReader | undefined;
  #isStopped = false;

  constructor(
    host: HostLinks,
    cache: LinkCache,
    slowReads: SlowReads,
    nats: Nats,
    verifier: LogVerifier,
  ) {
    this.#host = host;
    this.#cache = cache;
    this.#slowReads = slowReads;
    this.#nats = nats;
    this.#verifier = verifier;
  }

  /** Reads of the store since the start: in the event loop turn of a request, or in a thread. */
  get counts(): Readonly<Record<"direct" | "slow", number>> {
    return this.#counts;
  }

  /**
   * Finds a link or notice in the store, and caches a link. Returns null when a store with all
   * links lacks it. Returns undefined when that is unknown, when reading could take long, or when
   * the link was deleted and may have returned: call `fetch` then.
   */
  find(domain: string, alias: string): LinkRecord | null | undefined {
    const startedAt = performance.now();
    if (this.#disk.isSlow(startedAt) || !this.#host.isReadable) return undefined;
    this.#counts.direct++;
    const found = this.#host.use((reader) => reader.find(domain, alias) ?? null);
    this.#disk.note(startedAt, performance.now());
    if (found === null) return hasAllLinks(this.#host.state) ? null : undefined;
    if (found === undefined || isDeleted(found)) return undefined;
    this.#keep(found);
    return found;
  }

  /**
   * As `find`, however long reading takes. Returns undefined when there is no such link, as the
   * store has the last entry of the log. Throws when that is unknown.
   */
  async fetch(domain: string, alias: string): Promise<LinkRecord | undefined> {
    const found = await this.#read(domain, alias);
    if (found !== undefined && !isDeleted(found)) return found;
    await this.#waitForTailEnd(({ isCurrent }) => isCurrent);
    return await this.#read(domain, alias);
  }

  /**
   * Resolves when the store has everything that the tail had at the time of the call; waits for
   * NATS without a time limit.
   */
  async waitUntilCurrent(): Promise<void> {
    await this.#nats.connection;
    while (!this.#isStopped) {
      try {
        // Before that, there may be no tail, of which nobody should ask again and again.
        if (hasAllLinks(this.#host.state)) return await this.#waitForTailEnd(hasAllLinks);
      } catch {
        // The tail may have no leader.
      }
      await Bun.sleep(RETRY_MS);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Reads a link, however long that takes. Throws when a link may exist nevertheless. */
  async #read(domain: string, alias: string): Promise<LinkRecord | undefined> {
    if (!this.#host.isReadable) throw new Error("There is no links store yet.");
    const isSlow = this.#disk.isSlow(performance.now());
    this.#counts[isSlow ? "slow" : "direct"]++;
    if (isSlow) await this.#slowReads.prefetch(domain, alias);
    // Reads here and not in that thread, and caches at once: a change that is applied meanwhile
    // must not be replaced by an earlier read.
    const row = this.#host.use((reader) => ({ record: reader.find(domain, alias) }));
    if (row === undefined) throw new Error("The link is malformed, or the store cannot be read.");
    const { record } = row;
    if (record !== undefined) this.#keep(record);
    else if (!hasAllLinks(this.#host.state)) throw new Error("The links store lacks links.");
    return record;
  }

  /** Caches a link that is not in memory, or as a deleted one. */
  #keep(record: LinkRecord): void {
    const isCached = (this.#cache.find(record.domain, record.alias) ?? null) !== null;
    if (!isCached && !isNotice(record)) this.#cache.put(record);
  }

  /**
   * Waits until the store has the entry that is the last one of the tail now, and is in a state;
   * throws when that takes too long, and without NATS.
   */
  async #waitForTailEnd(isSuch: (state: LogState) => boolean): Promise<void> {
    if (!this.#nats.connected()) throw new Error("There is no connection to NATS.");
    const end = await this.#tailEnds.run();
    const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
    let state = this.#host.readState();
    while (!isSuch(state) || !hasEntry(state, end)) {
      await withTimeout(this.#host.stateChanged, deadline - performance.now(), behindError);
      ({ state } = this.#host);
    }
  }

  /** The last entry of the tail, as the leader of its stream has it. */
  async #readTailEnd(): Promise<Entry> {
    this.#tail ??= await this.#openTail();
    const { entry } = await this.#tail.readLast();
    if (typeof entry === "string") throw new Error("The links log does not end with an entry.");
    return entry;
  }

  async #openTail(): Promise<TailReader> {
    const connection = await this.#nats.connection;
    const manager = await connection.jetstreamManager(SHORT_REQUESTS);
    return new TailReader(connection, manager, this.#verifier);
  }
}

const behindError = (): Error => new Error("The links store is behind the links log.");

/**
 * Whether a store has an entry of its history. The tail is read again and again, so a store that is
 * ahead of the entry has passed it a moment ago, unless all came back older.
 */
function hasEntry({ database, head }: LogState, entry: Entry): boolean {
  const order = comparePositions(head, entry);
  return database === entry.database && (order > 0 || (order === 0 && head.hash === entry.hash));
}

const isDeleted = (record: LinkRecord): boolean => record.state === "deleted" && !isNotice(record);
