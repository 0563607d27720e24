/**
 * Goal: a quota grants exactly what it allows, also to requests that open its window at the same
 * moment.
 */
import { expect, test } from "bun:test";

import { boundsOf, PLANS } from "../../shared/budgets.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import type { Consumption } from "./quotas.ts";

const postgres = await forFile(startPostgres());

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

test("the guide's table of limits is what the database and the budgets enforce", async () => {
  const { sql } = postgres;
  const guide = await Bun.file(new URL("../openapi/guide.md", import.meta.url)).text();
  const table = new Map(
    [...guide.matchAll(/^\| (.+?) *\| ([\d,]+) +\| ([\d,]+) +\| ([\d,]+) +\| (.+?) +\|$/gm)].map(
      ([, name = "", ...cells]) => [name, cells.map((cell) => cell.replaceAll(",", ""))],
    ),
  );
  const plans = await sql<{ per_second: number; per_minute: number; per_day: number }[]>`
    select per_second, per_minute, per_day from plans where name <> 'enterprise'
     order by per_day`;
  const requests = (name: "per_second" | "per_minute" | "per_day") => [
    ...plans.map((plan) => String(plan[name])),
    "as agreed",
  ];
  const links = await sql<{ allowed: number }[]>`
    select allowed from plan_quotas where quota = 'links_per_day' order by allowed`;
  const endpoints = await sql<{ endpoint: string; allowed: number; seconds: number }[]>`
    select endpoint, allowed, seconds from endpoint_limits`;
  expect(Object.fromEntries(table)).toEqual({
    "requests a second": requests("per_second"),
    "requests a minute": requests("per_minute"),
    "requests a day": requests("per_day"),
    "links in bulk, an hour": PLANS.map((plan) => String(boundsOf("bulk_rows", plan).atOnce)),
    "links in all, a day": links.map(({ allowed }) => String(allowed)),
    ...Object.fromEntries(
      endpoints.map(({ endpoint, allowed, seconds }) => [
        `\`${endpoint}\`, ${seconds === 60 ? "a minute" : "an hour"}`,
        PLANS.map(() => String(allowed)),
      ]),
    ),
  });
});
