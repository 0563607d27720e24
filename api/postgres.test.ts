/** Goal: errors of PostgreSQL that a repetition would not meet are not said to be the API's. */
import { expect, test } from "bun:test";

import { forFile } from "../test/harness/for-file.ts";
import { startPostgres } from "../test/harness/postgres.ts";
import { isUnavailable } from "./postgres.ts";

const postgres = await forFile(startPostgres());

test("of two transactions that wait for each other, the one that is ended can be repeated", async () => {
  const { sql } = postgres;
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const lockBoth = async (one: number, other: number, mine = first, theirs = second) =>
    await sql.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${one})`;
      mine.resolve();
      await theirs.promise;
      await transaction`select pg_advisory_xact_lock(${other})`;
    });
  const results = await Promise.allSettled([lockBoth(1, 2), lockBoth(2, 1, second, first)]);
  const errors = results.filter((result) => result.status === "rejected");
  expect(errors).toHaveLength(1);
  expect(errors[0]?.reason).toMatchObject({ code: "40P01" });
  expect(isUnavailable(errors[0]?.reason)).toBe(true);
});
