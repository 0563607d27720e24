/**
 * Start and graceful stop of a process, of which it notifies systemd. On SIGTERM or SIGINT it
 * closes its resources in reverse order, within a deadline; a second signal ends it at once. A
 * failed start or an uncaught error exits with a non-zero code.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

import { ConfigError } from "./env.ts";
import type { Log } from "./log.ts";
import { version } from "./version.ts";

/** Longest time for a graceful stop; afterwards the process exits with code 1. */
const STOP_DEADLINE_MS = 9_000;

/** Closes the resources of a process when it stops. */
export interface Lifecycle {
  /** Registers a resource for `stop` to close; the last registered is closed first. */
  onStop(name: string, close: () => unknown): void;
  /**
   * Returns whether a stop has begun: readiness responds 503, and the process accepts no new work.
   */
  stopping(): boolean;
  /** Closes all resources and exits with `code`; later calls have no effect. */
  stop(reason: string, code?: number): Promise<void>;
}

/** The lifecycle of this process, which handles its signals and uncaught errors. */
export class ProcessLifecycle implements Lifecycle {
  readonly #log: Log;
  readonly #notifier: Notifier | undefined;
  readonly #closers: { name: string; close: () => unknown }[] = [];
  #stopping = false;

  /** `notifier` is notified when a stop begins. */
  constructor(log: Log, notifier?: Notifier) {
    this.#log = log;
    this.#notifier = notifier;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (this.#stopping) process.exit(1);
        void this.stop(signal);
      });
    }
    process.on("uncaughtException", (error) => {
      log.fatal({ error }, "uncaught_exception");
      void this.stop("uncaught_exception", 1);
    });
    process.on("unhandledRejection", (error) => {
      log.fatal({ error }, "unhandled_rejection");
      void this.stop("unhandled_rejection", 1);
    });
  }

  onStop(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  stopping(): boolean {
    return this.#stopping;
  }

  async stop(reason: string, code = 0): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#notifier?.stopping();
    this.#log.info({ reason }, "stopping");
    setTimeout(() => {
      this.#log.error("stop_deadline_passed");
      process.exit(1);
    }, STOP_DEADLINE_MS).unref();
    for (const { name, close } of this.#closers.toReversed()) {
      try {
        await close();
      } catch (error) {
        this.#log.error({ error, name }, "close_failed");
      }
    }
    this.#log.info("stopped");
    process.exit(code);
  }
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

/**
 * Notifies systemd that a process is ready, stopping or, for the watchdog, alive (sd_notify(3)).
 * The notification is a datagram to a Unix socket, which neither Bun nor Node can send, so libc is
 * called. Without `NOTIFY_SOCKET` nothing is sent.
 */
export class Notifier {
  readonly #send: ((text: string) => void) | undefined;
  readonly #watchdogMs: number;

  /** Reads `NOTIFY_SOCKET` and `WATCHDOG_USEC`, the watchdog's timeout, from `env`. */
  constructor(env: Record<string, string | undefined>, log: Log) {
    const path = env["NOTIFY_SOCKET"] ?? "";
    this.#send = path === "" ? undefined : openSocket(path, log);
    this.#watchdogMs = Number(env["WATCHDOG_USEC"] ?? 0) / 1_000;
  }

  ready(): void {
    this.#send?.("READY=1");
    // Sent from the event loop: when that hangs, no notification is sent and systemd restarts the
    // process.
    if (this.#watchdogMs > 0)
      setInterval(() => this.#send?.("WATCHDOG=1"), this.#watchdogMs / 2).unref();
  }

  stopping(): void {
    this.#send?.("STOPPING=1");
  }
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
