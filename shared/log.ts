/**
 * Structured logs: one JSON line per event on standard output. `event` is a fixed name in
 * snake_case; fields hold what varies. Never log an address of a person, a key, or a URL's query.
 */
import pino from "pino";

import { MINUTE_MS } from "./durations.ts";

export type Log = pino.Logger;

/**
 * Creates the log of a process; every line has the process's name. `output` is standard output by
 * default.
 */
export function processLog(process: string, level: string, output?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    messageKey: "event",
    errorKey: "error",
    serializers: { error: describeError },
  };
  return output === undefined ? pino(options) : pino(options, output);
}

/**
 * Serializes an error without the data that a database quotes: PostgreSQL's `detail` can contain a
 * whole row.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { detail: _, ...described } = pino.stdSerializers.err(error);
  return described;
}

/** Lines per minute of one reason: enough to identify the error, too few to fill a disk. */
export const LINES_PER_MINUTE = 10;

/** Frames logged of a stack trace: where the error was thrown, and its callers. */
const FRAMES_MAX = 8;

/**
 * Logs errors that anybody can cause, without anything that was received: as `event`, with at most
 * {@link LINES_PER_MINUTE} lines per minute and reason. The next line has the number of
 * `suppressed` ones.
 */
export class LimitedLog {
  readonly #log: Log;
  readonly #event: string;
  readonly #now: () => number;
  readonly #windows = new Map<string, { endsAt: number; lines: number; suppressed: number }>();

  constructor(log: Log, event: string, now = Date.now) {
    this.#log = log;
    this.#event = event;
    this.#now = now;
  }

  /**
   * Reasons must be a small fixed set, as each is stored. `error` is omitted if the reason says it
   * all; `numbers` are logged as further fields.
   */
  error(reason: string, error?: unknown, numbers: Readonly<Record<string, number>> = {}): void {
    const window = this.#windowOf(reason);
    if (window.lines >= LINES_PER_MINUTE) {
      window.suppressed++;
      return;
    }
    window.lines++;
    const { suppressed } = window;
    window.suppressed = 0;
    this.#log.error(
      {
        reason,
        ...numbers,
        ...(suppressed > 0 ? { suppressed } : {}),
        ...(error === undefined ? {} : describeWithoutMessage(error)),
      },
      this.#event,
    );
  }

  #windowOf(reason: string) {
    const time = this.#now();
    const open = this.#windows.get(reason);
    if (open !== undefined && open.endsAt > time) return open;
    const window = { endsAt: time + MINUTE_MS, lines: 0, suppressed: open?.suppressed ?? 0 };
    this.#windows.set(reason, window);
    return window;
  }
}

/**
 * Describes an error without its message, which can contain an address or a URL: name, code and
 * stack frames.
 */
function describeWithoutMessage(error: unknown): {
  error_name: string;
  code?: string;
  at: string[];
} {
  if (!(error instanceof Error)) return { error_name: typeof error, at: [] };
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return {
    error_name: error.name,
    ...code,
    at: frames.slice(0, FRAMES_MAX).map((frame) => frame.trim()),
  };
}
