/**
 * The links of this host, for requests: those in memory, and behind them the store that a thread of one of the host's
 * redirectors fills from the feed. What changes in the store is taken over into memory within some milliseconds. Requests
 * need neither NATS nor that thread, except for an alias that no link has: the feed may just have got it.
 */
import { isNotice, TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import { DEFAULT_DOMAIN, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { isInStream, type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import { createLimitedLog } from "../../shared/limited-log.ts";
import { linkOfKey } from "../../shared/links-store/record.ts";
import { EMPTY_FEED } from "../../shared/links-store/schema.ts";
import { MalformedRecordError } from "../../shared/links-store/stored-record.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { DomainAnswersCache } from "../domain-settings.ts";
import type { Takedowns } from "../takedowns.ts";
import { createCoalesced } from "./coalesced.ts";
import { createDiskSpeed } from "./disk-speed.ts";
import { combineFeeds, type HostFeed } from "./host-feed.ts";
import { findStore, isDamage, openReader, type StoreReader } from "./store.ts";

/** Whether a record says that there is no link. */
const isDeleted = (record: LinkRecord): boolean => record.state === "deleted" && !isNotice(record);

/** How often the store is asked whether it has changed: the most that a change by another process waits here. */
const POLL_MS = 20;

/**
 * How long changes are taken over in one turn of the event loop, and how many before that is looked at: one of a link with
 * many rules takes up to a millisecond.
 */
const TURN_MS = 5;
const CHANGES_AT_ONCE = 10;

/** How often the file is looked for: another one may have taken the place of a damaged one. */
const FILE_CHECK_MS = 100;

/** How long NATS may take to say where the feed ends, and how long the store may take to get there. */
const QUESTION_TIMEOUT_MS = 500;
const CATCH_UP_TIMEOUT_MS = 2_000;
const CATCH_UP_POLL_MS = 5;

const RETRY_MS = 50;

/** After this long without NATS, an alias that a complete store does not have is taken for one without a link. */
const AWAY_MS = 10_000;

export type HostLinks = {
  /**
   * Finds a link or notice in the store, and keeps a link in memory. Null when a complete store lacks it; undefined when
   * that is not known, when reading could take long, or when the link was deleted and may have come back: then `fetch`
   * says.
   */
  find(domain: string, alias: string): LinkRecord | null | undefined;
  /**
   * As `find`, however long reading takes. Undefined when there is no such link: neither in the store nor in the feed, if
   * NATS is there. Throws when that is not known.
   */
  fetch(domain: string, alias: string): Promise<LinkRecord | undefined>;
  /** Takes over what has changed in the store, without waiting until that is done again by itself. */
  poll(): void;
  /** Resolves once the store has all that the feed had when this was called; waits for NATS as long as it takes. */
  waitUntilCurrent(): Promise<void>;
  /** Changes that could not be taken over since the start. */
  failed(): number;
  /** Requests' reads of the store since the start: in their turn of the event loop, or slowly, in a thread. */
  reads(): Readonly<Record<"direct" | "slow", number>>;
  stop(): void;
};

type HostLinksDeps = {
  dir: string;
  nats: Pick<Nats, "connection" | "connected">;
  /** The streams of the feed. */
  streams?: readonly LinksStream[];
  cache: Pick<LinkCache, "put" | "has" | "forget" | "clear">;
  takedowns: Pick<Takedowns, "apply" | "isKnown">;
  domains: Pick<DomainAnswersCache, "apply" | "forget" | "clear">;
  /** Has another thread read a link, so that its pages are in memory afterwards. */
  prefetch: (domain: string, alias: string) => Promise<void>;
  /** Called with the state of the feed that the store has, when it has changed. */
  onFeed: (feed: HostFeed) => void;
  /** Says that the store is damaged. */
  onDamaged: (error: unknown) => void;
  log: Log;
  /** As {@link TURN_MS}. */
  turnMs?: number;
};

export function startHostLinks({
  dir,
  nats,
  streams = [UNDIVIDED],
  cache,
  takedowns,
  domains,
  prefetch,
  onFeed,
  onDamaged,
  log,
  turnMs = TURN_MS,
}: HostLinksDeps): HostLinks {
  const logFailed = createLimitedLog(log, "link_change_failed");
  let store: StoreReader | undefined;
  /** The file that is open; another one may take its place. */
  let inode = 0;
  let feed: HostFeed = EMPTY_FEED;
  let dataVersion = -1;
  /** The number of the last change that was taken over. */
  let number = 0;
  let failed = 0;
  const disk = createDiskSpeed();
  const reads = { direct: 0, slow: 0 };
  let checkedAt = -Infinity;
  /** What is in memory may be older than the store. */
  let isOutdated = false;
  let isStopped = false;
  /** When there was last a connection to NATS, or this process started. */
  let connectedAt = performance.now();

  /** Opens the store once there is one, and again when another file has taken its place. */
  function reopen(): void {
    const now = performance.now();
    if (now - checkedAt < FILE_CHECK_MS) return;
    checkedAt = now;
    const present = findStore(dir);
    // One that was deleted is read until there is another one.
    if (present === undefined || (present.inode === inode && store !== undefined)) return;
    close();
    try {
      store = openReader(present.dir);
      ({ inode } = present);
      skipChanges(store);
    } catch {
      // It is just being made.
      close();
    }
  }

  function close(): void {
    store?.close();
    store = undefined;
    inode = 0;
    dataVersion = -1;
    feed = EMPTY_FEED;
    onFeed(feed);
  }

  /** Changes were missed: what is in memory may be outdated. */
  function skipChanges(reader: StoreReader): void {
    number = reader.lastChange();
    isOutdated = true;
  }

  /** Forgets what may be outdated, so that it is read again. A store that lacks links is no reason to forget any. */
  function renew(reader: StoreReader): void {
    if (feed.complete && isOutdated) {
      cache.clear();
      domains.clear();
      isOutdated = false;
    }
    if (takedowns.isKnown()) return;
    const list = reader.find(DEFAULT_DOMAIN, TAKEDOWNS_ALIAS);
    if (list !== undefined || feed.complete) takedowns.apply(list);
  }

  /** Runs something on the store; undefined while there is none. One that fails is opened again, or another one. */
  function onStore<Result>(use: (store: StoreReader) => Result): Result | undefined {
    if (store === undefined) return undefined;
    try {
      return use(store);
    } catch (error) {
      if (error instanceof MalformedRecordError) return undefined;
      close();
      if (isDamage(error)) onDamaged(error);
      else logFailed("store", error);
      return undefined;
    }
  }

  function poll(): void {
    if (nats.connected()) connectedAt = performance.now();
    reopen();
    onStore((reader) => {
      const version = reader.dataVersion();
      if (version === dataVersion) return;
      feed = combineFeeds(streams, reader.feed);
      onFeed(feed);
      renew(reader);
      if (takeOver(reader)) dataVersion = version;
      else setImmediate(poll);
    });
  }

  /** Takes over the next changes; returns whether those were all. */
  function takeOver(reader: StoreReader): boolean {
    const turnEnd = performance.now() + turnMs;
    for (;;) {
      const next = reader.changesSince(number, CHANGES_AT_ONCE);
      if (next === undefined) {
        skipChanges(reader);
        renew(reader);
        return true;
      }
      for (const key of next.keys) apply(reader, key);
      ({ number } = next);
      if (next.keys.length < CHANGES_AT_ONCE) return true;
      if (performance.now() >= turnEnd) return false;
    }
  }

  /** Takes over the change of a link or notice. What is not in memory is read when it is requested. */
  function apply(reader: StoreReader, key: string): void {
    const { domain, alias } = linkOfKey(key);
    const notice = isNotice({ alias });
    if (!notice && !cache.has(domain, alias)) return;
    try {
      const record = reader.find(domain, alias);
      if (alias === TAKEDOWNS_ALIAS) takedowns.apply(record);
      else if (notice && record === undefined) domains.forget(domain);
      else if (notice) domains.apply(domain, record);
      else if (record === undefined) cache.forget(domain, alias);
      else cache.put(record);
    } catch (error) {
      if (isDamage(error)) throw error;
      failed++;
      logFailed("failed", error);
    }
  }

  function find(domain: string, alias: string): LinkRecord | null | undefined {
    const startedAt = performance.now();
    if (disk.isSlow(startedAt) || !isReadable()) return undefined;
    reads.direct++;
    const found = onStore((reader) => reader.find(domain, alias) ?? null);
    disk.note(startedAt, performance.now());
    if (found === null) return feed.complete ? null : undefined;
    return found === undefined || isDeleted(found) ? undefined : keep(found);
  }

  /** Before the takedowns are known, a link might be followed that is taken down. */
  const isReadable = (): boolean => takedowns.isKnown();

  function keep<Found extends LinkRecord | undefined>(found: Found): Found {
    if (found !== undefined && !isNotice(found)) cache.put(found);
    return found;
  }

  /** Reads a link, in a thread if that could take long. Throws when there may be a link all the same. */
  async function read(domain: string, alias: string): Promise<LinkRecord | undefined> {
    if (store === undefined || !isReadable()) throw new Error("There is no links store yet.");
    const isSlow = disk.isSlow(performance.now());
    reads[isSlow ? "slow" : "direct"]++;
    if (isSlow) await prefetch(domain, alias);
    // Here, and not in that thread: a change that is taken over meanwhile must not be replaced by what was read before it.
    const row = onStore((reader) => ({ record: reader.find(domain, alias) }));
    if (row === undefined) throw new Error("The link is malformed, or the store cannot be read.");
    const { record } = row;
    if (record === undefined && !feed.complete) throw new Error("The links store lacks links.");
    return record;
  }

  /** The streams, and a question to the leader of each where it ends. */
  const ends = streams.map((stream) => ({
    stream,
    ask: createCoalesced(async () => {
      const connection = await nats.connection;
      const options = { timeout: QUESTION_TIMEOUT_MS, checkAPI: false };
      const manager = await connection.jetstreamManager(options);
      const { created, state } = await manager.streams.info(stream.name);
      return { created, sequence: state.last_seq };
    }),
  }));

  /**
   * Waits until the store has all that was in a stream when it was called. Without NATS there is nothing to wait for; but
   * where it has just gone, or is just coming back, others may have put a link into the feed.
   */
  async function catchUp({ stream: { name }, ask }: (typeof ends)[number]): Promise<void> {
    if (!nats.connected()) {
      if (performance.now() - connectedAt > AWAY_MS) return;
      throw new Error("NATS has just gone.");
    }
    const end = await ask();
    const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
    for (;;) {
      feed = onStore((reader) => combineFeeds(streams, reader.feed)) ?? EMPTY_FEED;
      const { stream, sequence } = feed.streams?.[name] ?? feed;
      if (stream === end.created && sequence >= end.sequence) return;
      if (performance.now() >= deadline) throw new Error("The links store is behind the feed.");
      await Bun.sleep(CATCH_UP_POLL_MS);
    }
  }

  async function fetch(domain: string, alias: string): Promise<LinkRecord | undefined> {
    const found = await read(domain, alias);
    if (found !== undefined && !isDeleted(found)) return keep(found);
    // Notices are in every stream: one of them says whether there is one.
    const end = ends.find(({ stream }) => isInStream(stream, { domain, alias }));
    if (end !== undefined) await catchUp(end);
    return keep(await read(domain, alias));
  }

  async function waitUntilCurrent(): Promise<void> {
    for (;;) {
      if (isStopped) return;
      try {
        await nats.connection;
        if (nats.connected()) return void (await Promise.all(ends.map(catchUp)));
      } catch {
        // The stream may be having an election, or not exist yet.
      }
      await Bun.sleep(RETRY_MS);
    }
  }

  poll();
  const timer = setInterval(poll, POLL_MS);
  return {
    find,
    fetch,
    poll,
    waitUntilCurrent,
    failed: () => failed,
    reads: () => reads,
    stop() {
      isStopped = true;
      clearInterval(timer);
      close();
    },
  };
}
