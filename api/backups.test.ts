/** Goal: a backup that is missing, old or unproven is named. */
import { expect, test } from "bun:test";

import { recordBackup } from "../cli/machines/backup/postgres.ts";
import { DAY_MS } from "../shared/durations.ts";
import { startPostgres } from "../test/harness/postgres.ts";
import { describeBackups, readBackups } from "./metrics.ts";

const NOW = Date.UTC(2027, 0, 31);
const ago = (days: number) => NOW - days * DAY_MS;

test.each([
  [undefined, undefined, "no backup is known"],
  [ago(2), ago(2), "the newest backup is 2 days old"],
  [ago(1.9), undefined, "no backup was ever restored by a drill"],
  [ago(0), ago(9), "the newest backup that a drill has restored is 9 days old"],
  [ago(1.9), ago(8.9), undefined],
])("made at %p and proven at %p: %p", (madeAt, provenAt, problem) =>
  expect(describeBackups({ madeAt, provenAt }, NOW)).toBe(problem),
);

test("the newest of all places counts, and a drill does not change when a backup was made", async () => {
  await using postgres = await startPostgres();
  const { sql } = postgres;
  expect(await readBackups(sql)).toEqual({ madeAt: undefined, provenAt: undefined });
  await recordBackup(sql, "/var/backups/shorthop", { madeAt: new Date(ago(2)) });
  await recordBackup(sql, "s3://bucket", { madeAt: new Date(ago(3)) });
  await recordBackup(sql, "s3://bucket", { provenAt: new Date(ago(3)) });
  await recordBackup(sql, "s3://bucket", { madeAt: new Date(ago(1)) });
  expect(await readBackups(sql)).toEqual({ madeAt: ago(1), provenAt: ago(3) });
});
