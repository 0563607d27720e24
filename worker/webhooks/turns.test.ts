/** Goal: a webhook that is slow, busy or one of many delays no webhook of others. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { eventually, SLOWDOWN_MAX } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { newLinks, TestWebhooks } from "../../test/harness/test-webhooks.ts";
import { WebhookReceiver } from "../../test/harness/webhook-receiver.ts";
import { ATTEMPT_TIMEOUT_MS } from "./attempt.ts";
import { refill } from "./fan-out.ts";
import { lease, numberEvents, PENDING_MAX } from "./leases.ts";

/** Webhooks of an account, of which a worker leases all. */
const MANY = 20;

/** What a worker leases that has nothing yet. */
const DEMAND = { throttled: false, limit: 100, reserved: 0, limitEach: 100, held: [] };

const world = await forFile(TestWebhooks.start());
const { service: webhooks } = world;
const { sql } = world.postgres;

test("no more deliveries wait than are read at once, however often a webhook is leased", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  const { row } = await world.create(owner, receiver.url);
  await world.record(owner, newLinks(PENDING_MAX + 10));
  await numberEvents(sql);
  const workerId = newUuid();
  const leased = await lease(sql, workerId, DEMAND);
  const webhook = leased.find(({ id }) => id === row.id);
  if (webhook === undefined) throw new Error("The webhook is not leased.");
  const sizes: (number | undefined)[] = [];
  for (let i = 0; i < 4; i++) {
    const read = await refill(sql, workerId, webhook, { hasEvents: true, ownHosts: [] });
    sizes.push(read?.rows.length);
  }
  // The first event is that of the webhook's creation, which no webhook gets.
  expect(sizes).toEqual([PENDING_MAX / 2 - 1, PENDING_MAX - 1, PENDING_MAX, PENDING_MAX]);
  const [waiting] = await sql`
    select count(*)::int as count from webhook_deliveries where webhook_id = ${row.id}`;
  expect(waiting?.count).toBe(PENDING_MAX);
  await webhooks.update(owner, row.id, { status: "paused" });
});

test("accounts take turns when webhooks are leased, and none has all of the places", async () => {
  const [many, one] = [await world.addOwner(), await world.addOwner()];
  // What other tests have left would have turns, too.
  await world.pauseAll();
  for (let i = 0; i < 8; i++) await world.create(many, "http://127.0.0.1:9/");
  await world.record(many, newLinks(1));
  await world.create(one, "http://127.0.0.1:9/");
  await world.record(one, newLinks(1));
  await numberEvents(sql);
  const leaseOf = async (more: Partial<Parameters<typeof lease>[2]>) => {
    const leased = await lease(sql, newUuid(), { ...DEMAND, ...more });
    const accounts = leased.map(({ account_id }) => account_id);
    return [many, one].map(({ accountId }) => accounts.filter((id) => id === accountId).length);
  };
  expect(await leaseOf({ limit: 4, reserved: 4, held: [many.accountId] })).toEqual([0, 1]);
  expect(await leaseOf({ limitEach: 5, held: Array(3).fill(many.accountId) })).toEqual([2, 0]);
  expect(await leaseOf({ limit: 3 })).toEqual([3, 0]);
  expect(await leaseOf({ limitEach: 2 })).toEqual([2, 0]);
  await world.pauseAll();
});

test("that a receiver is slow is not its owner's to forget", async () => {
  const owner = await world.addOwner();
  const { row } = await world.create(owner, "http://127.0.0.1:9/");
  await sql`update webhooks set is_slow = true where id = ${row.id}`;
  await webhooks.update(owner, row.id, { status: "active", url: "http://127.0.0.1:10/" });
  const [state] = await sql`select is_slow from webhooks where id = ${row.id}`;
  expect(state).toEqual({ is_slow: true });
});

test("a webhook that works waits for none of those at its address that never respond", async () => {
  const stuck = Promise.withResolvers<void>();
  await using dead = new WebhookReceiver(() => stuck.promise.then(() => new Response()));
  await using receiver = new WebhookReceiver();
  // What other tests have left would have turns, too.
  await world.pauseAll();
  const owner = await world.addOwner();
  const { row } = await world.create(owner, receiver.url);
  const isWanted = async (): Promise<unknown> => {
    const [state] = await sql`select is_wanted from webhooks where id = ${row.id}`;
    return state?.["is_wanted"];
  };
  {
    await using _ = world.startWorker();
    await world.record(owner, newLinks(1));
    await eventually(async () => expect(await isWanted()).toBe(true));
  }
  const many = await world.addOwner();
  for (let i = 0; i < 45; i++) await world.create(many, dead.url);
  await world.record(many, newLinks(1));
  // Another worker leases it, as it does when the webhook was idle for a while.
  await using _ = world.startWorker();
  await eventually(async () => expect(dead.got.length).toBeGreaterThanOrEqual(25));
  const ids = await world.record(owner, newLinks(3));
  // Sooner than the attempts end that never get a response.
  const within = ATTEMPT_TIMEOUT_MS / 2 / SLOWDOWN_MAX;
  await eventually(
    async () => expect(receiver.ids().slice(1).toSorted()).toEqual(ids.toSorted()),
    within,
  );
  await webhooks.update(owner, row.id, { url: dead.url });
  expect(await isWanted()).toBe(false);
  stuck.resolve();
});

test("that a delivery to its former URL is successful says nothing of a webhook's new one", async () => {
  const sent = Promise.withResolvers<void>();
  await using former = new WebhookReceiver(() => sent.promise.then(() => new Response()));
  const owner = await world.addOwner();
  const { row } = await world.create(owner, former.url);
  await world.record(owner, newLinks(1));
  await using _ = world.startWorker();
  await eventually(async () => expect(former.got).toHaveLength(1));
  await webhooks.update(owner, row.id, { url: "http://127.0.0.1:9/" });
  const stateOf = () =>
    sql`select is_wanted, wake_at = 'infinity' as is_read from webhooks where id = ${row.id}`;
  await eventually(async () => expect(await stateOf()).toMatchObject([{ is_read: true }]));
  sent.resolve();
  await eventually(async () =>
    expect(await world.deliveriesOf(owner, row.id)).toMatchObject([{ status: "delivered" }]),
  );
  expect(await stateOf()).toMatchObject([{ is_wanted: false }]);
});

test("an account whose many webhooks get many events delays no delivery of another one", async () => {
  // What other tests have left would have turns, too.
  await world.pauseAll();
  const [many, other] = [await world.addOwner(), await world.addOwner()];
  const withDeliveries = Promise.withResolvers<number>();
  await using busy = new WebhookReceiver();
  await using receiver = new WebhookReceiver(async () => {
    const [row] = await sql`
      select count(distinct webhook_id)::int as count from webhook_deliveries
       where webhook_id in (select id from webhooks where account_id = ${many.accountId})`;
    withDeliveries.resolve(row?.["count"]);
    return new Response();
  });
  for (let i = 0; i < MANY; i++) await world.create(many, busy.url);
  await world.create(other, receiver.url);
  await world.record(many, newLinks(300));
  await world.record(other, newLinks(1));
  await using _ = world.startWorker();
  // Those of the other webhooks are made later.
  expect(await withDeliveries.promise).toBeLessThan(MANY);
  await world.pauseAll();
});

longTest("a slow webhook is noted, and gets one event at a time", async () => {
  const owner = await world.addOwner();
  let [inFlight, most] = [0, 0];
  await using receiver = new WebhookReceiver(async () => {
    most = Math.max(most, ++inFlight);
    await Bun.sleep(2_500);
    inFlight -= 1;
    return new Response();
  });
  const { row } = await world.create(owner, receiver.url);
  const ids = await world.record(owner, newLinks(4));
  await using _ = world.startWorker();
  await eventually(async () => {
    const [state] = await sql`select is_slow from webhooks where id = ${row.id}`;
    expect(state).toEqual({ is_slow: true });
    expect(new Set(receiver.ids()).size).toBe(ids.length);
  }, 60_000);
  expect(most).toBe(1);
});
