/**
 * Goal: after an erasure every table has what it would have if these clicks had never been. Method:
 * the embedded ClickHouse; clicks of two accounts, and each rollup compared with the clicks that are
 * left.
 */
import { beforeEach, expect, test } from "bun:test";

import { queryRows } from "../../shared/clicks/query.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { newUuid } from "../../shared/ids.ts";
import { TestClickHouse } from "../../test/harness/clickhouse.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { AccountClicks } from "./clicks.ts";
import type { ClickRange } from "./sql.ts";

const postgres = await forFile(startPostgres());
const server = await forFile(TestClickHouse.start(postgres.url));
const clickhouse = await forFile(connectClickHouse(server.url, 120_000), (client) =>
  client.close(),
);

const [account, other] = [newUuid(), newUuid()];
const [link, sibling, foreign] = [newUuid(), newUuid(), newUuid()];
const DAY = new Date("2026-03-10T00:00:00Z");
const dayAfter = (days: number): Date => new Date(DAY.getTime() + days * 86_400_000);

const NO_RANGE: ClickRange = { link: undefined, from: undefined, to: undefined };

/** Clicks of five days, by thirteen visitors, of people and bots, of three links. */
beforeEach(async () => {
  for (const table of ["clicks", "failures", ...ROLLUP_TABLES.map(({ table }) => table)])
    await clickhouse.command({ query: `TRUNCATE TABLE ${table}` });
  const links = [
    [link, account],
    [sibling, account],
    [foreign, other],
  ] as const;
  for (const [i, [linkId, accountId]] of links.entries())
    await clickhouse.command({
      query: `
        INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, city, browser, device, referrer,
                            journal_id, segment, idx)
        SELECT toDateTime64({from: UInt32} + number * 1117, 3, 'UTC'), {link: UUID}, {account: UUID}, 'live',
               if(number % 5 = 0, 'bot', 'human'), 1 + number % 13 + 7 * {i: UInt8},
               if(number % 3 = 0, 'DE', 'FR'), 'City', 'Firefox', 'desktop', 'direct', generateUUIDv4(), 1, number
          FROM numbers(380)`,
      query_params: { from: DAY.getTime() / 1_000, link: linkId, account: accountId, i },
    });
});

/** Of each rollup what it has, and what the clicks say. */
async function compareRollups(): Promise<void> {
  for (const { table, keys, measures, selectFromClicks } of ROLLUP_TABLES) {
    const visitors = measures.includes("visitors")
      ? ", uniqCombined64Merge(14)(visitors) AS visitors"
      : "";
    const read = (from: string) =>
      queryRows(
        clickhouse,
        `SELECT ${keys.join(", ")}, sum(clicks) AS clicks${visitors} FROM ${from}
          GROUP BY ${keys.join(", ")} HAVING clicks != 0 ORDER BY ${keys.join(", ")}`,
      );
    expect(await read(table), table).toEqual(await read(`(${selectFromClicks("true")})`));
  }
}

const countOf = async (condition: string): Promise<number> => {
  const [row] = await queryRows<{ count: string }>(
    clickhouse,
    `SELECT count() AS count FROM clicks WHERE ${condition}`,
  );
  return Number(row?.count);
};

test.each([
  ["an account", NO_RANGE, 380],
  ["a link", { ...NO_RANGE, link }, 760],
  ["days", { ...NO_RANGE, from: dayAfter(1), to: dayAfter(3) }, undefined],
  ["days of a link", { link, from: dayAfter(0), to: dayAfter(1) }, undefined],
] as const)(
  "the clicks of %s are gone, and all sums are those of the rest",
  async (_, range, left) => {
    await compareRollups();
    const clicks = new AccountClicks(clickhouse, account, range, []);
    const before = await clicks.count();
    expect(before["clicks"]).toBeGreaterThan(0);
    const lost = (await clicks.readLosses()).reduce(
      (sum, { humans, bots }) => sum + humans + bots,
      0,
    );
    expect(lost).toBe(before["clicks"] ?? 0);
    await clicks.erase();
    for (const [table, count] of Object.entries(await clicks.count()))
      expect([table, count]).toEqual([table, 0]);
    expect(await countOf("true")).toBe(left ?? 1_140 - (before["clicks"] ?? 0));
    expect(await countOf(`account_id = '${other}'`)).toBe(380);
    await compareRollups();
  },
);
