/** Goal: an owner reads from a real ClickHouse what owners have written to the log. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { TestClickHouse } from "../../test/harness/clickhouse.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { connectClickHouse } from "../clickhouse.ts";
import { BatchesTable } from "./batch-log.ts";

const postgres = await forFile(startPostgres());
const { url } = await forFile(TestClickHouse.start(postgres.url));
const client = await forFile(Promise.resolve(connectClickHouse(url)), (open) => open.close());

test("an empty log has no claim, and another one shows how old its winning claim is", async () => {
  const log = new BatchesTable(client);
  expect(await log.readHighestClaim()).toBeUndefined();
  expect(await log.readClaimSight()).toBeUndefined();
  expect(await log.read()).toBeUndefined();
  const [loser, winner] = [1, 2].map((epoch) => ({ epoch, owner: newUuid() }));
  if (loser === undefined || winner === undefined) throw new Error("There are two.");
  await log.claim(winner);
  await log.claim(loser);
  expect(await log.readHighestClaim()).toEqual(winner);
  const sight = await log.readClaimSight();
  expect(sight).toMatchObject({ key: `2 ${winner.owner} 1`, aheadMs: 0 });
  expect(sight?.ageMs).toBeWithin(0, 120_000);
  await log.claim(winner);
  expect((await log.readClaimSight())?.key).toBe(`2 ${winner.owner} 2`);
});
