/** Goal: workers share webhooks, and what one of them cannot finish, another one does. */
import { expect, test } from "bun:test";

import { decodeId, newUuid } from "../../shared/ids.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { PROJECT_DIR } from "../../test/harness/stack.ts";
import { newLinks, TestWebhooks } from "../../test/harness/test-webhooks.ts";
import { WebhookReceiver } from "../../test/harness/webhook-receiver.ts";

const world = await forFile(TestWebhooks.start());
const { sql } = world.postgres;

test("two workers share webhooks, and deliver each event once", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  for (let i = 0; i < 8; i++) await world.create(owner, receiver.url);
  await using first = world.startWorker();
  await using second = world.startWorker();
  const ids = await world.record(owner, newLinks(30));
  await eventually(async () => expect(receiver.got.length).toBe(8 * ids.length), 20_000);
  // Another delivery would follow at the next look for work.
  await Bun.sleep(600);
  expect(receiver.got.length).toBe(8 * ids.length);
  expect([first.warning, second.warning]).toEqual([undefined, undefined]);
});

test("what a killed worker had leased is taken over", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  const { row } = await world.create(owner, receiver.url);
  const [id] = await world.record(owner, newLinks(1));
  // As a worker leaves it that was killed after it made the deliveries.
  await sql`
    update webhooks set leased_by = ${newUuid()}, leased_until = now() + interval '3 s', wake_at = 'infinity',
           position = 9000000000000000 where id = ${row.id}`;
  await sql`
    insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
    values (${newUuid()}, ${row.id}, ${decodeId("event", id ?? "") ?? ""}, 'link.updated', 1, now())`;
  await using _ = world.startWorker();
  // The lease is valid for longer.
  await Bun.sleep(1_000);
  expect(receiver.got).toHaveLength(0);
  await eventually(async () => expect(receiver.ids()).toEqual([id ?? ""]), 30_000);
});

test("a clock that was an hour ahead, and is set right, delays no delivery", async () => {
  const owner = await world.addOwner();
  let status = 500;
  await using receiver = new WebhookReceiver(() => new Response("", { status }));
  const given = await world.create(owner, receiver.url);
  const held = await world.create(owner, receiver.url);
  const [id = ""] = await world.record(owner, newLinks(1));
  const worker = world.startWorker();
  // Both have failed once; one is given back, the other one is not, as its worker is killed.
  await eventually(async () => expect(receiver.ids()).toEqual([id, id]));
  await worker.stop();
  await sql`
    update webhooks set leased_by = ${newUuid()}, leased_until = now() + interval '5 s', wake_at = 'infinity'
     where id = ${held.row.id}`;
  await sql`
    update webhooks set leased_until = leased_until + interval '1 hour', wake_at = wake_at + interval '1 hour'
     where id in (${given.row.id}, ${held.row.id})`;
  await sql`
    update webhook_deliveries
       set next_attempt_at = next_attempt_at + interval '1 hour', last_attempt_at = last_attempt_at + interval '1 hour'
     where webhook_id in (${given.row.id}, ${held.row.id})`;
  // Made by a worker that did not come to an attempt.
  const [other = ""] = await world.record(owner, newLinks(1));
  await sql`
    insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
    select ${newUuid()}, ${held.row.id}, id, type, 1, now() + interval '1 hour'
      from events where id = ${decodeId("event", other) ?? ""}`;
  // Nor does a new event wake them.
  await sql`
    update webhooks set position = 9000000000000000 where id in (${given.row.id}, ${held.row.id})`;

  status = 200;
  receiver.got.length = 0;
  await using _ = world.startWorker();
  await eventually(async () =>
    expect(receiver.ids().toSorted()).toEqual([id, id, other].toSorted()),
  );
});

longTest("a worker that is killed while it delivers loses nothing", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver(async () => {
    await Bun.sleep(20);
    return new Response();
  });
  await world.create(owner, receiver.url);
  const harness = JSON.stringify(`${PROJECT_DIR}/test/harness/test-webhooks.ts`);
  const program = `
    import { TestWebhooks } from ${harness};
    import postgres from "postgres";
    TestWebhooks.deliver(postgres(${JSON.stringify(world.postgres.url)}, { max: 4, onnotice: () => undefined }));`;
  const worker = Bun.spawn([process.execPath, "-e", program], {
    cwd: PROJECT_DIR,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const linkIds = newLinks(10);
  // More than arrive until it is killed, on a busy machine, too.
  const ids = await world.record(owner, Array.from({ length: 30 }, () => linkIds).flat());
  try {
    await eventually(async () => expect(receiver.got.length).toBeGreaterThan(20), 20_000);
  } finally {
    worker.kill("SIGKILL");
    await worker.exited;
  }
  expect(new Set(receiver.ids()).size).toBeLessThan(ids.length);
  await using _ = world.startWorker();
  await eventually(
    async () => expect([...new Set(receiver.ids())].toSorted()).toEqual(ids.toSorted()),
    30_000,
  );
  // In order for each link, when a repetition is not counted.
  for (const [index] of linkIds.entries()) {
    const ofLink = ids.filter((_id, i) => i % linkIds.length === index);
    expect([...new Set(receiver.ids())].filter((id) => ofLink.includes(id))).toEqual(ofLink);
  }
});
