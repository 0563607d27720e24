/**
 * Start and graceful stop of a process. On SIGTERM or SIGINT it closes its resources in reverse
 * order, within a deadline; a second signal ends it at once. A failed start or an uncaught error
 * exits with a non-zero code.
 */
import { ConfigError } from "./env.ts";
import type { Log } from "./log.ts";
import type { Notifier } from "./sd-notify.ts";
import { version } from "./version.ts";

/** Longest time for a graceful stop; afterwards the process exits with code 1. */
const STOP_DEADLINE_MS = 9_000;

export type Lifecycle = {
  /** Registers a resource for `stop` to close; the last registered is closed first. */
  onStop(name: string, close: () => unknown): void;
  /**
   * Returns whether a stop has begun: readiness responds 503, and the process accepts no new work.
   */
  stopping(): boolean;
  /** Closes all resources and exits with `code`; later calls have no effect. */
  stop(reason: string, code?: number): Promise<void>;
};

/**
 * Creates the lifecycle of this process, and handles its signals and uncaught errors. `notifier` is
 * notified when a stop begins.
 */
export function createLifecycle(log: Log, notifier?: Pick<Notifier, "stopping">): Lifecycle {
  const closers: { name: string; close: () => unknown }[] = [];
  let stopping = false;

  async function stop(reason: string, code = 0): Promise<void> {
    if (stopping) return;
    stopping = true;
    notifier?.stopping();
    log.info({ reason }, "stopping");
    setTimeout(() => {
      log.error("stop_deadline_passed");
      process.exit(1);
    }, STOP_DEADLINE_MS).unref();
    for (const { name, close } of closers.toReversed()) {
      try {
        await close();
      } catch (error) {
        log.error({ error, name }, "close_failed");
      }
    }
    log.info("stopped");
    process.exit(code);
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      void stop(signal);
    });
  }
  process.on("uncaughtException", (error) => {
    log.fatal({ error }, "uncaught_exception");
    void stop("uncaught_exception", 1);
  });
  process.on("unhandledRejection", (error) => {
    log.fatal({ error }, "unhandled_rejection");
    void stop("unhandled_rejection", 1);
  });

  return {
    onStop: (name, close) => void closers.push({ name, close }),
    stopping: () => stopping,
    stop,
  };
}

/**
 * The commands of a process by their name on the command line; the empty name runs the process
 * itself.
 */
export type Commands = { "": () => Promise<void> } & Record<string, () => Promise<void>>;

/**
 * Runs the command of the command line. When it fails, prints the error and exits with code 1; with
 * code 2 for an invalid configuration or an unknown command.
 */
export async function runMain(commands: Commands, [name = ""]: readonly string[]): Promise<void> {
  if (name === "--version") {
    console.log(version);
    return;
  }
  const command = commands[name];
  const names = Object.keys(commands).filter((known) => known !== "");
  if (name === "--help") {
    console.log(`Without an argument the process runs, configured by its environment
(docs/configuration.md). Other commands: ${[...names, "--version"].join(", ")}.`);
    return;
  }
  if (command === undefined) {
    console.error(`Unknown command "${name}". There are: ${[...names, "--version"].join(", ")}.`);
    process.exit(2);
  }
  try {
    await command();
  } catch (error) {
    const expected = error instanceof ConfigError;
    console.error(expected ? error.message : error);
    process.exit(expected ? 2 : 1);
  }
}
