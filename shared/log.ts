/**
 * Structured logs: one JSON line per event on standard output. `event` is a fixed name in
 * snake_case; fields hold what varies. Never log an address of a person, a key, or a URL's query.
 */
import pino from "pino";

export type Log = pino.Logger;

/**
 * Creates the log of a process; every line has the process's name. `output` is standard output by
 * default.
 */
export function createLog(process: string, level: string, output?: pino.DestinationStream): Log {
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
