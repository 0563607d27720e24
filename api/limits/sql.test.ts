/**
 * Goal: a quota grants exactly what it allows, also to requests that open its window at the same
 * moment.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import { startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import type { Consumption } from "./quotas.ts";

// Starts a real server, on a machine that may be busy.
setDefaultTimeout(60_000);

let postgres: TestPostgres;
beforeAll(async () => void (postgres = await startPostgres()));
afterAll(async () => await postgres[Symbol.asyncDispose]());

/**
 * Accounts whose first requests arrive together: the race between them is lost by one in several.
 */
const ACCOUNTS = 40;
const REQUESTS = 10;

test.each([
  ["all of them, if it allows as many", REQUESTS, REQUESTS],
  ["as many as it allows", 4, 4],
])("of the first requests of an account, a window grants %s", async (_, allowed, granted) => {
  const { sql } = postgres;
  for (let i = 0; i < ACCOUNTS; i++) {
    const account = await postgres.addAccount();
    await sql`
      update accounts set limits = ${sql.json({ quotas: { links_per_day: allowed } })} where id = ${account}`;
    const consumptions = await Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        const [row] = await sql<[Consumption]>`
          select * from consume_quota(${account}, 'live', 'links_per_day', 1)`;
        return row;
      }),
    );
    expect(consumptions.filter((row) => row.granted)).toHaveLength(granted);
    expect(Math.max(...consumptions.map(({ used }) => used))).toBe(granted);
  }
});
