/**
 * Goal: two repairs never run at once, and a lost connection to PostgreSQL ends a repair, but not
 * the worker.
 */
import { expect, test } from "bun:test";

import { connectPrimary } from "../shared/postgres.ts";
import { eventually } from "../test/harness/eventually.ts";
import { forFile } from "../test/harness/for-file.ts";
import { startPostgres } from "../test/harness/postgres.ts";
import { AnotherRepairError, RepairLock } from "./repairs.ts";

const postgres = await forFile(startPostgres());

test("the lock is given to one at a time", async () => {
  const sql = connectPrimary(postgres.url, { max: 2 });
  const lock = await RepairLock.take(sql);
  lock.confirm();
  expect(RepairLock.take(sql)).rejects.toBeInstanceOf(AnotherRepairError);
  lock.release();
  await eventually(async () => (await RepairLock.take(sql)).release());
  await sql.end();
});

test("a repair whose connection was lost is told so, and gives nothing back that is not there", async () => {
  const sql = connectPrimary(postgres.url, { max: 1 });
  const other = connectPrimary(postgres.url, { max: 1 });
  const lock = await RepairLock.take(sql);
  await other`
    select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and datname = current_database()`;
  await eventually(async () => expect(() => lock.confirm()).toThrow("given up"));
  lock.release();
  const next = await RepairLock.take(sql);
  next.confirm();
  next.release();
  await Promise.all([sql.end(), other.end()]);
});
