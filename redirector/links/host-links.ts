/**
 * The links of this host, for requests: the cache in memory, and behind it the store, which a
 * thread of one of the host's redirectors fills from the links log. Every process of the host looks
 * for changes in the store by itself. Memory has what the store has: a store that replaces another
 * one replaces all of memory, once it has all links.
 */
import { SQLiteError } from "bun:sqlite";

import { DEFAULT_DOMAIN, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { isNotice, TAKEDOWNS_ALIAS } from "../../shared/contracts/notices.ts";
import { shortLinkOfKey } from "../../shared/contracts/short-link.ts";
import {
  EMPTY_LOG,
  hasAllLinks,
  isReplaying,
  type LogState,
  MalformedRecordError,
} from "../../shared/links-store/schema.ts";
import { LimitedLog, type Log } from "../../shared/log.ts";
import type { DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import type { LogHealth } from "./log-health.ts";
import { findStore, isDamage, markDamaged } from "./store-files.ts";
import { StoreReader } from "./store.ts";

/** Interval at which the store is checked for changes, which takes some microseconds. */
const POLL_MS = 10;

/** Interval at which the file is checked: another one may have replaced it. */
const FILE_CHECK_MS = 100;

/** Maximum time for applying changes in one event loop turn. */
const TURN_MS = 5;

/** The part of the links of a host that a process has in memory. */
export type Memory = { cache: LinkCache; takedowns: Takedowns; domains: DomainSettingsCache };

export class HostLinks {
  readonly #dir: string;
  readonly #memory: Memory;
  readonly #health: LogHealth;
  readonly #log: Log;
  readonly #failedLog: LimitedLog;
  readonly #turnMs: number;
  #timer: Timer | undefined;
  #reader: StoreReader | undefined;
  /** The inode of the file that was opened last; another file may replace it. */
  #inode = 0;
  #checkedAt = -Infinity;
  #state: LogState = EMPTY_LOG;
  #changed = Promise.withResolvers<void>();
  #dataVersion = -1;
  /** The number of the last applied change. */
  #number = 0;
  /** Whether memory may have states that are not the store's, as changes were missed. */
  #isOutdated = false;
  /** Whether the takedowns of the open store are in memory. */
  #hasTakedowns = false;
  #failed = 0;

  /** Tests vary the time of a turn. */
  constructor(dir: string, memory: Memory, health: LogHealth, log: Log, turnMs = TURN_MS) {
    this.#dir = dir;
    this.#memory = memory;
    this.#health = health;
    this.#log = log;
    this.#failedLog = new LimitedLog(log, "link_change_failed");
    this.#turnMs = turnMs;
    this.poll();
  }

  /**
   * Applies changes of the store now, without waiting for the next interval. What is left waits for
   * the next turn of the event loop, of which each has one call only: requests wait for no more.
   */
  poll(): void {
    clearTimeout(this.#timer);
    this.#reopen();
    const isAll = this.use((reader) => reader.together(() => this.#update(reader))) !== false;
    this.#timer = setTimeout(() => this.poll(), isAll ? POLL_MS : 0);
  }

  /** What the store had of the log when it was last read. */
  get state(): LogState {
    return this.#state;
  }

  get stateChanged(): Promise<void> {
    return this.#changed.promise;
  }

  /** Reads the state as it is now. */
  readState(): LogState {
    this.use((reader) => {
      if (reader.dataVersion() !== this.#dataVersion) this.#setState(reader.state());
    });
    return this.#state;
  }

  /**
   * Whether there is a store that may be read: not before its takedowns are known, as a link that
   * is taken down might redirect.
   */
  get isReadable(): boolean {
    const { takedowns } = this.#memory;
    return this.#reader !== undefined && takedowns.isKnown() && !isReplaying(this.#state);
  }

  /** Changes that could not be applied since the start. */
  get failed(): number {
    return this.#failed;
  }

  /**
   * Runs a function on the store; undefined while there is none, or when it fails. After a failure
   * the store is reopened.
   */
  use<Result>(run: (reader: StoreReader) => Result): Result | undefined {
    if (this.#reader === undefined) return undefined;
    try {
      return run(this.#reader);
    } catch (error) {
      if (error instanceof MalformedRecordError) return undefined;
      this.#close();
      if (isDamage(error)) {
        this.#log.error({ error }, "links_store_damaged");
        markDamaged(this.#dir);
      } else this.#failedLog.error("store", error);
      return undefined;
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#close();
  }

  /** Opens the store when it exists, and again when another file has replaced it. */
  #reopen(): void {
    const now = performance.now();
    if (now - this.#checkedAt < FILE_CHECK_MS) return;
    this.#checkedAt = now;
    const present = findStore(this.#dir);
    // A deleted file is read until there is another one.
    if (present === undefined) return;
    if (present.inode === this.#inode && this.#reader !== undefined) return;
    this.#close();
    try {
      this.#reader = new StoreReader(present.dir);
      if (present.inode !== this.#inode) this.#skipChanges(this.#reader);
      this.#inode = present.inode;
    } catch {
      // It is just being created.
      this.#close();
    }
  }

  #close(): void {
    this.#reader?.close();
    this.#reader = undefined;
    this.#dataVersion = -1;
    this.#setState(EMPTY_LOG);
  }

  #setState(state: LogState): void {
    this.#state = state;
    this.#health.onState(state);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Applies what has changed in the store; returns whether that was all. */
  #update(reader: StoreReader): boolean {
    const version = reader.dataVersion();
    if (version === this.#dataVersion) return true;
    this.#setState(reader.state());
    if (!isReplaying(this.#state)) {
      this.#clearOutdated(reader);
      if (!this.#applyChanges(reader)) return false;
    }
    this.#dataVersion = version;
    return true;
  }

  #skipChanges(reader: StoreReader): void {
    this.#number = reader.lastChange();
    this.#outdate();
  }

  /** Memory lacks changes: all of it is read again. */
  #outdate(): void {
    this.#isOutdated = true;
    this.#hasTakedowns = false;
  }

  /**
   * Clears what may be outdated, so that it is read again; not for a store that lacks links. The
   * takedowns of such a store hold nevertheless.
   */
  #clearOutdated(reader: StoreReader): void {
    const { cache, domains } = this.#memory;
    const hasAll = hasAllLinks(this.#state);
    if (!this.#hasTakedowns) {
      const list = reader.find(DEFAULT_DOMAIN, TAKEDOWNS_ALIAS);
      this.#hasTakedowns = list !== undefined || hasAll;
      if (this.#hasTakedowns) this.#applyTakedowns(list);
    }
    if (!hasAll || !this.#isOutdated) return;
    cache.clear();
    domains.clear();
    this.#isOutdated = false;
  }

  /** Applies changes for the time of a turn; returns whether those were all. */
  #applyChanges(reader: StoreReader): boolean {
    const turnEnd = performance.now() + this.#turnMs;
    do {
      const next = reader.changesAfter(this.#number);
      if (next === undefined) {
        this.#skipChanges(reader);
        this.#clearOutdated(reader);
        return true;
      }
      if (next.keys.length === 0) return true;
      for (const key of next.keys) this.#apply(reader, key);
      this.#number = next.number;
    } while (performance.now() < turnEnd);
    return false;
  }

  /** Applies a change to what is in memory; the rest is read on request. */
  #apply(reader: StoreReader, key: string): void {
    const { cache, domains } = this.#memory;
    const { domain, alias } = shortLinkOfKey(key);
    const notice = isNotice({ alias });
    if (!notice && !cache.has(domain, alias)) return;
    try {
      const record = reader.find(domain, alias);
      if (record === undefined) return;
      if (alias === TAKEDOWNS_ALIAS) this.#applyTakedowns(record);
      else if (notice) domains.apply(domain, record);
      else cache.put(record);
    } catch (error) {
      if (isDamage(error)) throw error;
      if (error instanceof SQLiteError) this.#outdate();
      this.#failed++;
      this.#failedLog.error("failed", error);
    }
  }

  #applyTakedowns(list: LinkRecord | undefined): void {
    const { cache, takedowns } = this.#memory;
    if (takedowns.apply(list)) void cache.markAgain();
  }
}
