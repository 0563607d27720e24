/** Collects what came of attempts, and writes many results with one statement. */
import type postgres from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { type Result, writeResults } from "./results.ts";

/** Results written with one statement. */
const BATCH = 200;

/** How long a result waits for others, and for PostgreSQL after an error. */
const COLLECT_MS = 50;
const RETRY_MS = 500;

type ResultWriterDeps = {
  sql: postgres.Sql;
  workerId: Uuid;
  log: Log;
  onWritten(result: Result): void;
};

export function createResultWriter({ sql, workerId, log, onWritten }: ResultWriterDeps) {
  const waiting: Result[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<boolean> | undefined;

  function schedule(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void flush().then((isWritten) => {
        if (waiting.length > 0) schedule(isWritten ? 0 : RETRY_MS);
      });
    }, ms);
  }

  async function writeAll(): Promise<boolean> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      try {
        await writeResults(sql, workerId, batch);
      } catch (error) {
        log.warn({ error, waiting: waiting.length }, "webhook_results_not_written");
        return false;
      }
      waiting.splice(0, batch.length);
      batch.forEach(onWritten);
    }
    return true;
  }

  /** Writes everything; returns false when PostgreSQL has not taken it. */
  const flush = (): Promise<boolean> =>
    (writing ??= writeAll().finally(() => (writing = undefined)));

  return {
    waiting: (): number => waiting.length,
    add(result: Result): void {
      waiting.push(result);
      schedule(COLLECT_MS);
    },
    flush,
  };
}
