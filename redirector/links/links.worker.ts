/**
 * A redirector's thread for the links of the host: keeps the store up to date with the links log,
 * while this process has the lock of the folder, as one process of the host does. The store is
 * mended when it is damaged, and kept in memory when the disk has no room for it.
 */
import { existsSync, rmSync } from "node:fs";

import { LogVerifier } from "../../shared/links-log/signature.ts";
import { STORE_FORMAT } from "../../shared/links-store/schema.ts";
import { type Log, processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { type ProcessLock, tryLock } from "../../shared/process-lock.ts";
import { type Config, linksDirOf } from "../config.ts";
import { HostLog } from "./host-log.ts";
import type { LogSource } from "./log-follower.ts";
import {
  currentFolder,
  damageMarkPath,
  isDamage,
  makeFolder,
  memoryDir,
  presentFolder,
  quarantineStore,
  releaseReserve,
  storePath,
} from "./store-files.ts";

/** Messages to the thread, which sends one when it has stopped. */
export type LinksCommand = { kind: "start"; config: Config } | { kind: "stop" };

/** Interval at which a process without the lock tries to take it. */
const LOCK_POLL_MS = 250;

/** Pause after a failed write of the store. */
const RETRY_MS = 1_000;

declare const self: Worker;

class StoreFiller {
  readonly #config: Config;
  readonly #dir: string;
  readonly #log: Log;
  /** The log, from when this process fills the store on. */
  #source: LogSource | undefined;
  #host: HostLog | undefined;
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(config: Config) {
    this.#config = config;
    this.#dir = linksDirOf(config);
    this.#log = processLog("redirector", config.LOG_LEVEL);
    this.#running = this.#run();
  }

  /** Stops filling, after the current transaction, and closes the connection to NATS. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#host?.stop();
    await this.#running;
    await this.#source?.nats.close();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      using lock = this.#tryLock();
      if (lock === undefined) await Bun.sleep(LOCK_POLL_MS);
      else while (!this.#isStopped) await this.#fill();
    }
  }

  /** Takes the lock of the folder; that of the one in memory when the disk is full. */
  #tryLock(): ProcessLock | undefined {
    const memory = memoryDir(this.#dir);
    try {
      makeFolder(this.#dir);
    } catch {
      makeFolder(memory);
      return tryLock(STORE_FORMAT, memory);
    }
    // Versions that write other files do not wait for each other.
    const lock = tryLock(STORE_FORMAT, this.#dir);
    // A process that found the disk full left a store in memory, which is no longer needed.
    if (lock !== undefined) rmSync(memory, { recursive: true, force: true });
    return lock;
  }

  /** Fills the store until it fails or the filler is stopped; never rejects. */
  async #fill(): Promise<void> {
    try {
      if (existsSync(damageMarkPath(presentFolder(this.#dir)))) quarantineStore(this.#dir);
      this.#host = this.#open();
      await this.#host.ended;
    } catch (error) {
      this.#log.error({ error }, "links_store_failed");
      await this.#host?.stop();
      if (!this.#mend(error) && !this.#isStopped) await Bun.sleep(RETRY_MS);
    }
    this.#host = undefined;
  }

  /** Opens the store for writing; in memory while the disk is full. */
  #open(): HostLog {
    const existed = existsSync(storePath(currentFolder(this.#dir)));
    try {
      return this.#openIn(this.#dir);
    } catch (error) {
      if (existed) throw error;
      this.#log.error({ error }, "links_store_in_memory");
      rmSync(currentFolder(this.#dir), { recursive: true, force: true });
      return this.#openIn(memoryDir(this.#dir));
    }
  }

  #openIn(dir: string): HostLog {
    const { NATS_URL, LINKS_PUBLIC_KEYS } = this.#config;
    const log = this.#log;
    this.#source ??= {
      nats: new NatsClient(NATS_URL, "redirector links", log, this.#config),
      verifier: new LogVerifier(LINKS_PUBLIC_KEYS),
      log,
    };
    return new HostLog(dir, this.#source);
  }

  /**
   * Mends the store so that it can be written again; false when that is impossible, or when the
   * disk rejects every write.
   */
  #mend(error: unknown): boolean {
    try {
      if (!isDamage(error)) return releaseReserve(presentFolder(this.#dir));
      quarantineStore(this.#dir);
      return true;
    } catch (failure) {
      this.#log.error({ error: failure }, "links_store_not_mended");
      return false;
    }
  }
}

let filler: StoreFiller | undefined;

self.addEventListener("message", ({ data }: MessageEvent<LinksCommand>): void => {
  if (data.kind === "start") filler = new StoreFiller(data.config);
  else void filler?.stop().finally(() => self.postMessage(undefined));
});
