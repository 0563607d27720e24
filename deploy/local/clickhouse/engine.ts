/**
 * The ClickHouse engine as a library. Each statement gets its own connection: settings and
 * parameters stay on a chDB connection and must not leak into the next statement. Opening one takes
 * about a millisecond, which is acceptable for a local stack.
 */
import { Session } from "chdb";

import { tooManyQueries } from "./errors.ts";
import { parsePlainInsert } from "./statement-check.ts";
import type { Statement } from "./statement.ts";

/** Concurrent and queued statements: enough for two cores and a local stack. */
const RUNNING_MAX = 4;
const WAITING_MAX = 256;

/** The longest statement, as ClickHouse has it unless a setting says otherwise. */
const STATEMENT_BYTES_MAX = 262_144;

type EngineResult = {
  bytes: Uint8Array;
  elapsedSeconds: number;
};

export type Engine = {
  /** Names of all the engine's table functions. */
  tableFunctions: string[];
  /** Runs one statement; rejects with ClickHouse's error message. */
  run(statement: Statement): Promise<EngineResult>;
  /** Waits for the running statements, then closes the tables. */
  close(): Promise<void>;
};

/**
 * Opens the data directory; throws if another process has it open. `connectionArgs` come from
 * `confine`.
 */
export async function openEngine(dataDir: string, connectionArgs: string[]): Promise<Engine> {
  const open = () => new Session(dataDir, { connectionArgs });
  // Keeps the engine loaded between statements.
  const keeper = open();
  const waiting: (() => void)[] = [];
  let running = 0;
  let idle: (() => void) | undefined;

  async function run(statement: Statement): Promise<EngineResult> {
    if (running >= RUNNING_MAX) {
      if (waiting.length >= WAITING_MAX) throw tooManyQueries();
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    running++;
    try {
      return await runIsolated(statement);
    } finally {
      running--;
      waiting.shift()?.();
      if (running === 0) idle?.();
    }
  }

  async function runIsolated({ database, settings, parameters, sql, data, format }: Statement) {
    const session = open();
    try {
      if (database !== undefined) await session.queryAsync(`USE ${quoteIdentifier(database)}`);
      const set = [
        // The profile allows more, for this one.
        assignment(["max_query_size", String(STATEMENT_BYTES_MAX)]),
        ...settings.map(assignment),
        ...parameters.map(([name, value]) => assignment([`param_${name}`, value])),
      ];
      await session.queryAsync(`SET ${set.join(", ")}`);
      const insert = data.length === 0 ? undefined : parsePlainInsert(sql);
      // The rows stay bytes: as part of a statement's text, each of them would be copied four
      // times.
      if (insert !== undefined) {
        const { elapsed } = await session.insert({ ...insert, values: data });
        return { bytes: NO_BYTES, elapsedSeconds: elapsed };
      }
      const text = data.length === 0 ? sql : `${sql}\n${data.toString()}`;
      const result = await session.queryAsync(text, { format });
      return { bytes: result.bytes(), elapsedSeconds: result.elapsed };
    } finally {
      session.close();
    }
  }

  const listed = await keeper.queryAsync("SELECT name FROM system.table_functions", {
    format: "TabSeparated",
  });
  return {
    tableFunctions: new TextDecoder().decode(listed.bytes()).trim().split("\n"),
    run,
    async close() {
      if (running > 0) await new Promise<void>((resolve) => void (idle = resolve));
      keeper.close();
    },
  };
}

const NO_BYTES = new Uint8Array();

const assignment = ([name, value]: [string, string]): string =>
  `${quoteIdentifier(name)} = ${quoteString(value)}`;

const quoteIdentifier = (name: string): string =>
  `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;

const quoteString = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
