/**
 * The ClickHouse engine, as a library. Each statement runs in a connection of its own: settings and
 * parameters stick to a chDB connection, and must not reach the next statement. Opening one takes
 * about a millisecond, which a local stack can afford.
 */
import { Session } from "chdb";

import { GatewayError } from "./errors.ts";
import type { Statement } from "./statement.ts";

/** Statements at a time, and waiting: what two cores and a local stack need. */
const RUNNING_MAX = 4;
const WAITING_MAX = 256;

type EngineResult = {
  bytes: Uint8Array;
  rowsRead: number;
  bytesRead: number;
  elapsedSeconds: number;
};

export type Engine = {
  /** Runs one statement; rejects with ClickHouse's own error text. */
  run(statement: Statement): Promise<EngineResult>;
  /** Waits for the running statements and closes the tables. */
  close(): Promise<void>;
};

/** Opens the data directory; throws when another process holds it. */
export function openEngine(dataDir: string): Engine {
  // Keeps the engine loaded between statements.
  const keeper = new Session(dataDir);
  const waiting: (() => void)[] = [];
  let running = 0;
  let idle: (() => void) | undefined;

  async function run(statement: Statement): Promise<EngineResult> {
    if (running >= RUNNING_MAX) {
      if (waiting.length >= WAITING_MAX) throw tooMany();
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    running++;
    try {
      return await runAlone(statement);
    } finally {
      running--;
      waiting.shift()?.();
      if (running === 0) idle?.();
    }
  }

  async function runAlone({ database, settings, parameters, sql, format }: Statement) {
    const session = new Session(dataDir);
    try {
      if (database !== undefined) await session.queryAsync(`USE ${quoteIdentifier(database)}`);
      for (const [name, value] of settings) {
        await session.queryAsync(`SET ${quoteIdentifier(name)} = ${quoteString(value)}`);
      }
      for (const [name, value] of parameters) {
        await session.queryAsync(`SET ${quoteIdentifier(`param_${name}`)} = ${quoteString(value)}`);
      }
      const result = await session.queryAsync(sql, { format });
      return {
        bytes: result.bytes(),
        rowsRead: result.rowsRead,
        bytesRead: result.bytesRead,
        elapsedSeconds: result.elapsed,
      };
    } finally {
      session.close();
    }
  }

  return {
    run,
    async close() {
      if (running > 0) await new Promise<void>((resolve) => void (idle = resolve));
      keeper.close();
    },
  };
}

const tooMany = () =>
  new GatewayError(
    503,
    "Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)",
  );

const quoteIdentifier = (name: string): string =>
  `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;

const quoteString = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
