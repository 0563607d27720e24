/** A local stack: supervises and stops its processes, and writes the file that describes it. */
import { rmSync } from "node:fs";
import { join } from "node:path";

import type { StackConfig } from "./config.ts";
import { Logger } from "./logger.ts";
import { type Secrets, writePrivate } from "./secrets.ts";
import { type StackFile, STOP_ORDER } from "./stack.ts";
import { Supervisor } from "./supervisor.ts";

/** A second signal within this time is npm's copy of the one that the terminal sent to all. */
const SAME_SIGNAL_MS = 500;

/** How often the stack checks whether its parent process is still running. */
const PARENT_POLL_MS = 1_000;

export type StackInfo = Omit<StackFile, "pids">;

/** The files of a data directory that describe the stack. */
export const filesOf = (dataDir: string) => ({
  stack: join(dataDir, "stack.json"),
  secrets: join(dataDir, "secrets.json"),
});

export class LocalStack {
  readonly config: StackConfig;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly supervisor: Supervisor;
  readonly #file: string;
  #info: StackInfo | undefined;
  #isStopping = false;

  constructor(config: StackConfig, secrets: Secrets) {
    const dataDir = config.SHORTHOP_DATA_DIR;
    const hasColour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
    this.config = config;
    this.secrets = secrets;
    this.logger = new Logger(join(dataDir, "logs"), hasColour);
    this.#file = filesOf(dataDir).stack;
    this.supervisor = new Supervisor(this.logger, {
      onRestart: () => this.#writeFile(),
      onFatal: (reason) => void this.stop(reason),
    });
  }

  /** Writes the file that describes the running stack to other programs. */
  onReady(info: StackInfo): void {
    this.#info = info;
    this.#writeFile();
  }

  async stop(reason: string, code = 1): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.logger.log(`Stopping: ${reason}`);
    await this.supervisor.stop(STOP_ORDER);
    rmSync(this.#file, { force: true });
    this.logger.log("Stopped; no process is left running.");
    process.exit(code);
  }

  /** Stops the stack on a signal, and when the parent process has ended. */
  stopOnSignals(): void {
    let signalledAt = 0;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        // A second signal means: do not wait. The remaining processes end with this one.
        if (this.#isStopping && Date.now() - signalledAt > SAME_SIGNAL_MS) process.exit(1);
        signalledAt = Date.now();
        void this.stop(signal, 0);
      });
    }
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) void this.stop("the parent process has ended", 0);
    }, PARENT_POLL_MS).unref();
  }

  /** When the stack is ready, and for the new pid of a restarted process. */
  #writeFile(): void {
    if (this.#info === undefined) return;
    const { supervisor } = this;
    const pids = {
      api: supervisor.pidOf("api"),
      worker: supervisor.pidOf("worker"),
      redirector: supervisor.pidOf("redirector"),
      postgres: supervisor.pidOf("postgres"),
      nats: supervisor.pidOf("nats"),
      clickhouse: supervisor.pidOf("clickhouse"),
    };
    const file: StackFile = { ...this.#info, pids };
    writePrivate(this.#file, `${JSON.stringify(file, undefined, 2)}\n`);
  }
}
