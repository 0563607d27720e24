/** Fills a day with clicks and their rollups, within minutes also with 150 million. */
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { HOUR_SECONDS } from "../../shared/durations.ts";
import { insertClicks } from "../../test/harness/generated-clicks.ts";
import type { connectClickHouse } from "../../worker/clickhouse.ts";

export const HOURS = 24;

/** The rollup by quarter hour: its rows are the sums from which others are made. */
const QUARTERS = "clicks_15m";

export type Day = {
  accountId: string;
  /** Its beginning, in Unix seconds. */
  midnight: number;
  hourClicks: number;
};

/**
 * Fills `clicks`, which has no views meanwhile: they would group each block by itself. Then fills
 * the rollups, hour by hour. Those of sums are made of the quarter hours, and rows of accounts of
 * those of links: to aggregate the clicks for each takes several times as long.
 */
export async function fillDay(
  client: ReturnType<typeof connectClickHouse>,
  { accountId, midnight, hourClicks }: Day,
): Promise<void> {
  const run = (query: string) => client.command({ query });

  /** Inserts the rows of a query with the rollup's columns. */
  async function insertRollup(
    { table, keys, measures }: (typeof ROLLUP_TABLES)[number],
    query: string,
  ): Promise<void> {
    const columns = [...keys, ...measures].join(", ");
    await run(
      `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${query})
       SETTINGS insert_deduplicate = 0, max_insert_threads = 2`,
    );
  }

  for (let hour = 0; hour < HOURS; hour++) {
    const from = midnight + hour * HOUR_SECONDS;
    const to = from + HOUR_SECONDS;
    const generated = { accountId, from, seconds: HOUR_SECONDS, clicks: hourClicks };
    await run(insertClicks({ ...generated, segment: hour }));
    const clicks = `ts >= toDateTime64(${from}, 3, 'UTC') AND ts < toDateTime64(${to}, 3, 'UTC')`;
    const sums = `(SELECT * FROM ${QUARTERS} WHERE bucket >= ${from} AND bucket < ${to})`;
    // Quarter hours come first.
    for (const rollup of ROLLUP_TABLES)
      if (rollup.selectFromLinks !== undefined)
        await insertRollup(rollup, rollup.selectFromClicks(clicks, "link_id"));
      else if (rollup.table === QUARTERS)
        await insertRollup(rollup, rollup.selectFromClicks(clicks));
      else
        await insertRollup(
          rollup,
          rollup.viewQuery.replace("click_sums", () => sums),
        );
    console.log(`${hour + 1} of ${HOURS} hours`);
  }
  for (const rollup of ROLLUP_TABLES)
    if (rollup.selectFromLinks !== undefined)
      await insertRollup(rollup, rollup.selectFromLinks(`bucket = ${midnight}`));
}
