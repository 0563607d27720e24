/**
 * Start and graceful stop of a process. On SIGTERM or SIGINT it closes its resources in reverse
 * order, within a deadline; a second signal ends it at once. A failed start or an uncaught error
 * exits with a non-zero code.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

import { ConfigError } from "./env.ts";
import type { Log } from "./log.ts";
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

const AF_UNIX = 1;
const SOCK_DGRAM = 2;

/** Longest path of a socket address, including its NUL (unix(7)). */
const PATH_BYTES_MAX = 108;

export type Notifier = {
  ready(): void;
  stopping(): void;
};

/** Reads `NOTIFY_SOCKET` and `WATCHDOG_USEC`, the watchdog's timeout, from `env`. */
export function createNotifier(env: Record<string, string | undefined>, log: Log): Notifier {
  const path = env["NOTIFY_SOCKET"] ?? "";
  const send = path === "" ? undefined : openSocket(path, log);
  const watchdogMs = Number(env["WATCHDOG_USEC"] ?? 0) / 1_000;
  return {
    ready() {
      send?.("READY=1");
      // Sent from the event loop: when that hangs, no notification is sent and systemd restarts the
      // process.
      if (watchdogMs > 0) setInterval(() => send?.("WATCHDOG=1"), watchdogMs / 2).unref();
    },
    stopping: () => send?.("STOPPING=1"),
  };
}

function openSocket(path: string, log: Log): ((text: string) => void) | undefined {
  try {
    const { symbols } = dlopen("libc.so.6", {
      socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
      sendto: {
        args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
        returns: FFIType.i64,
      },
    });
    const address = encodeAddress(path);
    const socket = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
    return (text) => {
      const bytes = Buffer.from(text);
      const sent = symbols.sendto(
        socket,
        ptr(bytes),
        bytes.length,
        0,
        ptr(address),
        address.length,
      );
      if (Number(sent) !== bytes.length) log.warn({ text }, "sd_notify_failed");
    };
  } catch (error) {
    log.warn({ error }, "sd_notify_failed");
    return undefined;
  }
}

/**
 * Encodes family and path as a socket address; a path that begins with `@` is in the abstract
 * namespace.
 */
function encodeAddress(path: string): Buffer {
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > PATH_BYTES_MAX) throw new Error(`The path of a socket is too long: ${path}`);
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, name]);
}
