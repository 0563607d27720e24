/** Late events are found in a real PostgreSQL, whoever should deliver them. */
import { beforeEach, expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { lagWarning, readLag } from "./service.ts";

const MINUTES = 5;

let accountId: Uuid;
let webhookId: Uuid;

const postgres = await forFile(startPostgres());

/** An account with a webhook that works. */
beforeEach(async () => {
  await postgres.sql`delete from webhooks`;
  accountId = await postgres.addAccount();
  webhookId = newUuid();
  await postgres.sql`
    insert into webhooks (id, account_id, mode, url, format, events, salt, position)
    values (${webhookId}, ${accountId}, 'live', 'https://hooks.example.com/', 'standard', '{*}',
            ${Buffer.alloc(16)}, 0)`;
});

/** An event of some minutes ago. */
const record = () => postgres.sql`
  insert into events (id, account_id, mode, type, data, actor, occurred_at)
  values (${newUuid()}, ${accountId}, 'live', 'link.updated', '{}', '{"type":"system"}',
          now() - make_interval(mins => ${MINUTES}))`;

const number = () => postgres.sql`select number_events(${accountId}, 'live')`;

/** Makes the delivery of the event, due in so many minutes. */
const deliver = (dueMinutes: number) => postgres.sql`
  with delivery as (
    insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
    select ${newUuid()}, ${webhookId}, id, type, position, now() + make_interval(mins => ${dueMinutes})
      from events where account_id = ${accountId}
    returning position)
  update webhooks set position = delivery.position from delivery where webhooks.id = ${webhookId}`;

const lagMinutes = async () => Math.round((await readLag(postgres.sql)) / 60);

test("nothing is late without events", async () => {
  expect(await lagMinutes()).toBe(0);
  expect(await lagWarning(postgres.sql)).toBeUndefined();
});

test("an event is late before it has a position, before its delivery, and while that is due", async () => {
  await record();
  expect(await lagMinutes()).toBe(MINUTES);
  await number();
  expect(await lagMinutes()).toBe(MINUTES);
  expect(await lagWarning(postgres.sql)).toBe("an event has waited for a webhook for 300 s");
  await deliver(-3);
  expect(await lagMinutes()).toBe(3);
});

test("a delivery that waits for its next attempt is not late", async () => {
  await record();
  await number();
  await deliver(10);
  expect(await lagMinutes()).toBe(0);
});

test.each([
  ["fails", { failing_since: new Date() }],
  ["is slow", { is_slow: true }],
  ["is paused", { status: "paused" }],
  ["has as many deliveries as can wait", { is_full: true }],
])("events for a webhook that %s are not late", async (_, state) => {
  await record();
  await number();
  await postgres.sql`update webhooks set ${postgres.sql(state)} where id = ${webhookId}`;
  expect(await lagMinutes()).toBe(0);
});
