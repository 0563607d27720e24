/** Goal: whoever changes many deliveries of a webhook at once, nobody waits for another forever. */
import { expect, test } from "bun:test";

import { postgresPool } from "../../api/postgres.ts";
import { newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { TestWebhooks } from "../../test/harness/test-webhooks.ts";
import { makeDue, type Outcome, ResultWriter, writeResults } from "./results.ts";

const DELIVERIES = 300;
const TURNS = 40;

const LATER: Outcome = {
  status: "pending",
  delayMs: 1,
  latencyMs: 1,
  responseStatus: 500,
  responseBody: null,
  errorCode: null,
  error: null,
};

const world = await forFile(TestWebhooks.start());
const { postgres, service: webhooks } = world;

/** A webhook that a worker has leased, with deliveries that wait. */
async function addWebhook() {
  const { sql } = postgres;
  const owner = await world.addOwner();
  const { row } = await world.create(owner, "http://127.0.0.1:9/");
  const workerId = newUuid();
  await sql`update webhooks set leased_by = ${workerId}, leased_until = 'infinity' where id = ${row.id}`;
  const ids = Array.from({ length: DELIVERIES }, () => newUuid());
  // Neither the order of their ids nor that of their results.
  await sql`
    insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
    select id, ${row.id}, gen_random_uuid(), 'link.updated', -place, now()
      from unnest(${ids}::uuid[]) with ordinality as given (id, place) order by id desc`;
  return { owner, webhookId: row.id, workerId, ids };
}

test("results that PostgreSQL does not take are said to wait, and wait", async () => {
  const sql = postgresPool(postgres.url, 1);
  await sql.end();
  const log = processLog("test", "silent");
  const writer = new ResultWriter(sql, newUuid(), log, () => undefined);
  writer.add({ id: newUuid(), webhookId: newUuid(), ...LATER });
  expect(await writer.flush()).toBe(false);
  expect(writer.waiting).toBe(1);
});

longTest(
  "a webhook is continued and deleted while results of its deliveries are written",
  async () => {
    const { owner, webhookId, workerId, ids } = await addWebhook();
    const { sql } = postgres;
    const times = async (work: () => Promise<unknown>) => {
      for (let i = 0; i < TURNS; i++) await work();
    };
    const results = ids.map((id) => ({ id, webhookId, ...LATER }));
    await Promise.all([
      times(() => writeResults(sql, workerId, results)),
      times(() => writeResults(sql, workerId, results.toReversed())),
      times(() => makeDue(sql, webhookId)),
      times(() => webhooks.update(owner, webhookId, { status: "active" })),
      times(() => webhooks.retry(owner, webhookId, ids[0])),
    ]);
    const attempts = await sql<{ attempts: number }[]>`
    select distinct attempts from webhook_deliveries where webhook_id = ${webhookId}`;
    expect(attempts.map((row) => row.attempts)).toEqual([2 * TURNS]);
    await Promise.all([
      times(() => writeResults(sql, workerId, results)),
      webhooks.remove(owner, webhookId),
    ]);
    expect(await sql`select from webhook_deliveries where webhook_id = ${webhookId}`).toBeEmpty();
  },
);
