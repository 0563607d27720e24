/**
 * The life of a process: what it opens is closed in reverse order on SIGTERM or SIGINT, within a
 * deadline; a second signal ends it at once. A failed start or a corrupt state exits non-zero.
 */
import { ConfigError } from "./env.ts";
import type { Log } from "./log.ts";
import type { Notifier } from "./notify.ts";
import { version } from "./version.ts";

/** Longest time a graceful stop may take before the process gives up and exits 1. */
const STOP_DEADLINE_MS = 9_000;

export type Lifecycle = {
  /** Registers what `stop` is to close; the last registered is closed first. */
  onStop(name: string, close: () => unknown): void;
  /** True once a stop has begun: readiness answers 503 and no new work is taken. */
  stopping(): boolean;
  /** Closes everything and exits with `code`; later calls have no effect. */
  stop(reason: string, code?: number): Promise<void>;
};

/**
 * Creates the lifecycle of this process and takes over its signals and uncaught errors. Whoever runs it
 * is told when it stops, if it wants to be.
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

/** What a process can be told to do, by the word for it; the empty word is its main work. */
export type Commands = { "": () => Promise<void> } & Record<string, () => Promise<void>>;

/**
 * Does what the command line says. A failed start prints why and exits 1, or 2 for bad configuration and
 * for a word that is no command.
 */
export async function runMain(commands: Commands, [word = ""]: readonly string[]): Promise<void> {
  if (word === "--version") {
    console.log(version);
    return;
  }
  const command = commands[word];
  if (command === undefined) {
    const words = Object.keys(commands).filter((known) => known !== "");
    console.error(`Unknown command "${word}". There are: ${[...words, "--version"].join(", ")}.`);
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
