/**
 * Structured logs: one JSON line an event on standard output. `event` is a fixed snake_case name;
 * whatever varies goes into fields. Never log an address of a person, a key, or a URL's query.
 */
import pino from "pino";

export type Log = pino.Logger;

/** Creates the log of one process; every line carries the process's name. */
export function createLog(process: string, level: string): Log {
  return pino({
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    messageKey: "event",
    errorKey: "error",
  });
}
