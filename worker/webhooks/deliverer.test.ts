/** Workers deliver events of a real PostgreSQL to receivers on loopback. */
import { expect, test } from "bun:test";

import type { Server } from "bun";
import { Webhook } from "standardwebhooks";

import { EventPositions } from "../../api/events/service.ts";
import { OPERATOR } from "../../api/http/principal.ts";
import type { CreateWebhookBody } from "../../api/webhooks/model.ts";
import { WebhookService } from "../../api/webhooks/service.ts";
import { decodeId, encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { ReceiverRules } from "../../shared/webhooks/variables.ts";
import { eventually, SLOWDOWN_MAX } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { PROJECT_DIR } from "../../test/harness/stack.ts";
import { workerContext } from "../../test/harness/worker-context.ts";
import { ATTEMPT_TIMEOUT_MS, Transport } from "./attempt.ts";
import { Deliverer } from "./deliverer.ts";
import { refill } from "./fan-out.ts";
import { lease, numberEvents, PENDING_MAX } from "./leases.ts";

const OWN_SECRET = "what secrets are derived from in this test";

const RULES = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: ["127.0.0.0/8"],
  WEBHOOK_PORTS_ALLOWED: ["*"],
});

const WITHIN_MS = 5_000;

/** Deliveries of each of several webhooks that take several looks for work. */
const MUCH = 2 * PENDING_MAX;
const BUSY = 2;

/** Webhooks of an account, of which a worker leases all. */
const MANY = 20;

/** What a worker leases that has nothing yet. */
const DEMAND = { throttled: false, limit: 100, reserved: 0, limitEach: 100, held: [] };

const postgres = await forFile(startPostgres());
const webhooks = new WebhookService(
  postgres.sql,
  new EventPositions(postgres.sql),
  RULES,
  OWN_SECRET,
);

type Delivered = { id: string; body: string; headers: Record<string, string> };

/** A receiver that responds by `respond`, and keeps what it gets. */
function startReceiver(respond: (delivered: Delivered) => Response | Promise<Response>) {
  const got: Delivered[] = [];
  const server: Server<undefined> = Bun.serve({
    port: 0,
    hostname: "0.0.0.0",
    async fetch(request) {
      const headers = Object.fromEntries(request.headers);
      const delivered = { id: headers["webhook-id"] ?? "", body: await request.text(), headers };
      got.push(delivered);
      return await respond(delivered);
    },
  });
  return {
    got,
    ids: () => got.map(({ id }) => id),
    url: `http://127.0.0.1:${server.port}/hook`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const ok = () => new Response("thanks");

function startWorker() {
  const transport = new Transport(OWN_SECRET, RULES, () => Promise.reject(new Error("not used")));
  const deliverer = new Deliverer(workerContext({ sql: postgres.sql }), transport, ["sho.rt"]);
  const stop = () => deliverer.stop();
  return { warning: () => deliverer.warning, stop, [Symbol.asyncDispose]: stop };
}

async function addOwner() {
  return { accountId: await postgres.addAccount(), mode: "live" as const, actor: OPERATOR };
}

type Owner = Awaited<ReturnType<typeof addOwner>>;

/** Records events about a link each; returns their public ids. */
async function record(owner: Owner, linkIds: readonly Uuid[], type = "link.updated") {
  const ids: string[] = [];
  for (const linkId of linkIds) {
    const id = newUuid();
    ids.push(encodeId("event", id));
    await postgres.sql`
      insert into events (id, account_id, mode, type, object_id, link_id, data, actor)
      values (${id}, ${owner.accountId}, 'live', ${type}, ${linkId}, ${linkId},
              ${postgres.sql.json({ link: { id: encodeId("link", linkId) } })}, '{"type":"system"}')`;
  }
  return ids;
}

const create = (
  owner: Owner,
  url: string,
  fields: Partial<Pick<CreateWebhookBody, "events" | "link_ids" | "format">> = {},
) => webhooks.create(owner, newUuid(), { url, events: ["*"], ...fields });

const deliveriesOf = async (owner: Owner, id: Uuid) =>
  (await webhooks.listDeliveries(owner, id, undefined, { limit: 100, page: 1 })).rows;

const links = (count: number): Uuid[] => Array.from({ length: count }, () => newUuid());

test("a webhook of a chat gets messages", async () => {
  const owner = await addOwner();
  await using slack = startReceiver(ok);
  await using discord = startReceiver(ok);
  await create(owner, slack.url, { format: "slack" });
  await create(owner, discord.url, { format: "discord" });
  const [id = ""] = await record(owner, links(1), "link.created");
  await using _ = startWorker();
  await eventually(async () => expect([slack.ids(), discord.ids()]).toEqual([[id], [id]]));
  expect(JSON.parse(slack.got[0]?.body ?? "")).toMatchObject({
    text: expect.stringMatching(/^The link “link_\w+” was created\.$/),
  });
  expect(JSON.parse(discord.got[0]?.body ?? "")).toMatchObject({
    content: expect.stringContaining("was created"),
    allowed_mentions: { parse: [] },
  });
});

test("events are delivered once, with a body and signatures that others verify", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  await record(owner, links(1));
  const { row, secret } = await create(owner, receiver.url);
  const ids = await record(owner, links(3));
  await using _ = startWorker();
  await eventually(async () => expect(receiver.ids().toSorted()).toEqual(ids.toSorted()));
  for (const { id, body, headers } of receiver.got) {
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({
      id,
      type: "link.updated",
      mode: "live",
      actor: { type: "system" },
    });
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
  }
  await eventually(async () => {
    const deliveries = await deliveriesOf(owner, row.id);
    expect(deliveries).toHaveLength(3);
    for (const delivery of deliveries)
      expect(delivery).toMatchObject({
        status: "delivered",
        attempts: 1,
        response_status: 200,
        response_body: "thanks",
        next_attempt_at: null,
      });
  });
});

function isVerifiedBy(key: string, { body, headers }: Delivered): boolean {
  try {
    new Webhook(key).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

test("after a rotation both secrets verify, until the old one has expired", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  const { row, secret: old } = await create(owner, receiver.url);
  const { secret } = await webhooks.rotate(owner, row.id);
  const deliverOne = async () => {
    await using _ = startWorker();
    const [id] = await record(owner, links(1));
    return await eventually(async () => {
      const delivered = receiver.got.find((one) => one.id === id);
      if (delivered === undefined) throw new Error("not delivered");
      return delivered;
    });
  };
  const first = await deliverOne();
  expect([old, secret].map((key) => isVerifiedBy(key, first))).toEqual([true, true]);
  await postgres.sql`update webhooks set old_until = now() where id = ${row.id}`;
  const second = await deliverOne();
  expect([old, secret].map((key) => isVerifiedBy(key, second))).toEqual([false, true]);
});

test("events of one link wait for each other, those of others do not", async () => {
  const owner = await addOwner();
  const [slow = "", other = ""] = links(2);
  let refuse = true;
  await using receiver = startReceiver(({ body }) =>
    refuse && body.includes(encodeId("link", slow)) ? new Response("no", { status: 500 }) : ok(),
  );
  const { row } = await create(owner, receiver.url);
  const ids = await record(owner, [slow, other, slow, other, slow]);
  await using _ = startWorker();
  const others = [ids[1] ?? "", ids[3] ?? ""];
  await eventually(async () => {
    expect(receiver.ids().filter((id) => others.includes(id))).toEqual(others);
    expect(receiver.ids()).toContain(ids[0] ?? "");
  });
  expect(receiver.ids()).not.toContain(ids[2] ?? "");
  refuse = false;
  const [first] = await postgres.sql<{ id: Uuid }[]>`
    select id from webhook_deliveries where webhook_id = ${row.id} and event_id = ${decodeId("event", ids[0] ?? "") ?? ""}`;
  await webhooks.retry(owner, row.id, first?.id);
  const inOrder = [ids[0], ids[2], ids[4]];
  await eventually(async () => {
    const delivered = receiver.ids().filter((id) => inOrder.includes(id));
    expect(delivered.slice(-3)).toEqual(inOrder.map((id) => id ?? ""));
  });
});

test("at another URL what waits is delivered at once, and so is a test, also where all had failed", async () => {
  const owner = await addOwner();
  await using broken = startReceiver(() => new Response("no", { status: 500 }));
  await using mended = startReceiver(ok);
  const { row } = await create(owner, broken.url);
  const [link = ""] = links(1);
  const ids = await record(owner, [link, link]);
  await postgres.sql`
    update webhooks set failing_since = now() - interval '1 day' where id = ${row.id}`;
  await using _ = startWorker();
  // The second waits for the first, and both for a minute.
  await eventually(async () => expect(broken.got).toHaveLength(1));
  await eventually(async () =>
    expect((await deliveriesOf(owner, row.id)).at(-1)?.attempts).toBe(1),
  );
  await webhooks.update(owner, row.id, { url: mended.url });
  const tested = await webhooks.test(owner, row.id);
  const all = [...ids, encodeId("event", tested.event_id)].toSorted();
  await eventually(async () => expect(mended.ids().toSorted()).toEqual(all));
  expect(broken.got).toHaveLength(1);
});

test("an event after a change of what a webhook gets is judged by the change", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  const { row } = await create(owner, receiver.url, { events: ["link.created"] });
  const [first = ""] = await record(owner, links(1), "link.created");
  await using _ = startWorker();
  await eventually(async () => expect(receiver.ids()).toEqual([first]));
  const [wanted = "", other = ""] = links(2);
  await webhooks.update(owner, row.id, {
    events: ["link.updated"],
    link_ids: [encodeId("link", wanted)],
  });
  const [, id = ""] = await record(owner, [other, wanted]);
  await eventually(async () => expect(receiver.ids()).toEqual([first, id]));
});

test("one webhook that never responds does not delay another", async () => {
  const owner = await addOwner();
  const stuck = Promise.withResolvers<void>();
  await using dead = startReceiver(() => stuck.promise.then(ok));
  await using receiver = startReceiver(ok);
  await create(owner, dead.url);
  await create(owner, receiver.url);
  const ids = await record(owner, links(20));
  await using _ = startWorker();
  await eventually(async () => expect(receiver.ids().toSorted()).toEqual(ids.toSorted()));
  expect(dead.got).toHaveLength(1);
  stuck.resolve();
});

longTest("webhooks with much to deliver do not delay another", async () => {
  const [owner, other] = [await addOwner(), await addOwner()];
  const order: string[] = [];
  await using busy = startReceiver(async () => {
    order.push("busy");
    if (order.length === (MUCH * BUSY) / 4) await record(other, links(1));
    return ok();
  });
  await using quick = startReceiver(() => {
    order.push("quick");
    return ok();
  });
  for (let i = 0; i < BUSY; i++) await create(owner, busy.url);
  await create(other, quick.url);
  await record(owner, links(MUCH));
  await using _ = startWorker();
  await eventually(async () => expect(order).toHaveLength(MUCH * BUSY + 1), 4 * WITHIN_MS);
  expect(order.at(-1)).toBe("busy");
});

test("no more deliveries wait than are read at once, however often a webhook is leased", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  const { row } = await create(owner, receiver.url);
  await record(owner, links(PENDING_MAX + 10));
  await numberEvents(postgres.sql);
  const workerId = newUuid();
  const leased = await lease(postgres.sql, workerId, DEMAND);
  const webhook = leased.find(({ id }) => id === row.id);
  if (webhook === undefined) throw new Error("The webhook is not leased.");
  const sizes: (number | undefined)[] = [];
  for (let i = 0; i < 4; i++) {
    const read = await refill(postgres.sql, workerId, webhook, { hasEvents: true, ownHosts: [] });
    sizes.push(read?.rows.length);
  }
  // The first event is that of the webhook's creation, which no webhook gets.
  expect(sizes).toEqual([PENDING_MAX / 2 - 1, PENDING_MAX - 1, PENDING_MAX, PENDING_MAX]);
  const [waiting] = await postgres.sql`
    select count(*)::int as count from webhook_deliveries where webhook_id = ${row.id}`;
  expect(waiting?.count).toBe(PENDING_MAX);
  await webhooks.update(owner, row.id, { status: "paused" });
});

test("accounts take turns when webhooks are leased, and none has all of the places", async () => {
  const [many, one] = [await addOwner(), await addOwner()];
  // What other tests have left would have turns, too.
  await postgres.sql`update webhooks set status = 'paused'`;
  for (let i = 0; i < 8; i++) await create(many, "http://127.0.0.1:9/");
  await record(many, links(1));
  await create(one, "http://127.0.0.1:9/");
  await record(one, links(1));
  await numberEvents(postgres.sql);
  const leaseOf = async (more: Partial<Parameters<typeof lease>[2]>) => {
    const leased = await lease(postgres.sql, newUuid(), { ...DEMAND, ...more });
    const accounts = leased.map(({ account_id }) => account_id);
    return [many, one].map(({ accountId }) => accounts.filter((id) => id === accountId).length);
  };
  expect(await leaseOf({ limit: 4, reserved: 4, held: [many.accountId] })).toEqual([0, 1]);
  expect(await leaseOf({ limitEach: 5, held: Array(3).fill(many.accountId) })).toEqual([2, 0]);
  expect(await leaseOf({ limit: 3 })).toEqual([3, 0]);
  expect(await leaseOf({ limitEach: 2 })).toEqual([2, 0]);
  await postgres.sql`update webhooks set status = 'paused'`;
});

test("that a receiver is slow is not its owner's to forget", async () => {
  const owner = await addOwner();
  const { row } = await create(owner, "http://127.0.0.1:9/");
  await postgres.sql`update webhooks set is_slow = true where id = ${row.id}`;
  await webhooks.update(owner, row.id, { status: "active", url: "http://127.0.0.1:10/" });
  const [state] = await postgres.sql`select is_slow from webhooks where id = ${row.id}`;
  expect(state).toEqual({ is_slow: true });
});

test("accounts with many webhooks whose receivers never respond do not delay another one", async () => {
  const stuck = Promise.withResolvers<void>();
  await using dead = startReceiver(() => stuck.promise.then(ok));
  await using receiver = startReceiver(ok);
  const { port } = new URL(dead.url);
  // Addresses of their own, as connections to each are bounded.
  for (const address of ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
    const owner = await addOwner();
    for (let i = 0; i < 45; i++) await create(owner, `http://${address}:${port}/`);
    await record(owner, links(20));
  }
  await using _ = startWorker();
  await eventually(async () => expect(dead.got.length).toBeGreaterThan(60));
  const other = await addOwner();
  await create(other, receiver.url);
  const ids = await record(other, links(20));
  await eventually(async () => expect(receiver.ids().toSorted()).toEqual(ids.toSorted()));
  stuck.resolve();
});

test("a webhook that works waits for none of those at its address that never respond", async () => {
  const stuck = Promise.withResolvers<void>();
  await using dead = startReceiver(() => stuck.promise.then(ok));
  await using receiver = startReceiver(ok);
  // What other tests have left would have turns, too.
  await postgres.sql`update webhooks set status = 'paused'`;
  const owner = await addOwner();
  const { row } = await create(owner, receiver.url);
  const isWanted = async (): Promise<unknown> => {
    const [state] = await postgres.sql`select is_wanted from webhooks where id = ${row.id}`;
    return state?.["is_wanted"];
  };
  {
    await using _ = startWorker();
    await record(owner, links(1));
    await eventually(async () => expect(await isWanted()).toBe(true));
  }
  const many = await addOwner();
  for (let i = 0; i < 45; i++) await create(many, dead.url);
  await record(many, links(1));
  // Another worker leases it, as it does when the webhook was idle for a while.
  await using _ = startWorker();
  await eventually(async () => expect(dead.got.length).toBeGreaterThanOrEqual(25));
  const ids = await record(owner, links(3));
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
  await using former = startReceiver(() => sent.promise.then(ok));
  const owner = await addOwner();
  const { row } = await create(owner, former.url);
  await record(owner, links(1));
  await using _ = startWorker();
  await eventually(async () => expect(former.got).toHaveLength(1));
  await webhooks.update(owner, row.id, { url: "http://127.0.0.1:9/" });
  const stateOf = () =>
    postgres.sql`select is_wanted, wake_at = 'infinity' as is_read from webhooks where id = ${row.id}`;
  await eventually(async () => expect(await stateOf()).toMatchObject([{ is_read: true }]));
  sent.resolve();
  await eventually(async () =>
    expect(await deliveriesOf(owner, row.id)).toMatchObject([{ status: "delivered" }]),
  );
  expect(await stateOf()).toMatchObject([{ is_wanted: false }]);
});

test("an account whose many webhooks get many events delays no delivery of another one", async () => {
  // What other tests have left would have turns, too.
  await postgres.sql`update webhooks set status = 'paused'`;
  const [many, other] = [await addOwner(), await addOwner()];
  const withDeliveries = Promise.withResolvers<number>();
  await using busy = startReceiver(ok);
  await using receiver = startReceiver(async () => {
    const [row] = await postgres.sql`
      select count(distinct webhook_id)::int as count from webhook_deliveries
       where webhook_id in (select id from webhooks where account_id = ${many.accountId})`;
    withDeliveries.resolve(row?.["count"]);
    return ok();
  });
  for (let i = 0; i < MANY; i++) await create(many, busy.url);
  await create(other, receiver.url);
  await record(many, links(300));
  await record(other, links(1));
  await using _ = startWorker();
  // Those of the other webhooks are made later.
  expect(await withDeliveries.promise).toBeLessThan(MANY);
  await postgres.sql`update webhooks set status = 'paused'`;
});

longTest("a slow webhook is noted, and gets one event at a time", async () => {
  const owner = await addOwner();
  let [inFlight, most] = [0, 0];
  await using receiver = startReceiver(async () => {
    most = Math.max(most, ++inFlight);
    await Bun.sleep(2_500);
    inFlight -= 1;
    return ok();
  });
  const { row } = await create(owner, receiver.url);
  const ids = await record(owner, links(4));
  await using _ = startWorker();
  await eventually(async () => {
    const [state] = await postgres.sql`select is_slow from webhooks where id = ${row.id}`;
    expect(state).toEqual({ is_slow: true });
    expect(new Set(receiver.ids()).size).toBe(ids.length);
  }, 60_000);
  expect(most).toBe(1);
});

test("two workers share webhooks, and deliver each event once", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  for (let i = 0; i < 8; i++) await create(owner, receiver.url);
  await using first = startWorker();
  await using second = startWorker();
  const ids = await record(owner, links(30));
  await eventually(async () => expect(receiver.got.length).toBe(8 * ids.length), 4 * WITHIN_MS);
  // Another delivery would follow at the next look for work.
  await Bun.sleep(600);
  expect(receiver.got.length).toBe(8 * ids.length);
  expect([first.warning(), second.warning()]).toEqual([undefined, undefined]);
});

test("what a killed worker had leased is taken over", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  const { row } = await create(owner, receiver.url);
  const [id] = await record(owner, links(1));
  // As a worker leaves it that was killed after it made the deliveries.
  await postgres.sql`
    update webhooks set leased_by = ${newUuid()}, leased_until = now() + interval '3 s', wake_at = 'infinity',
           position = 9000000000000000 where id = ${row.id}`;
  await postgres.sql`
    insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
    values (${newUuid()}, ${row.id}, ${decodeId("event", id ?? "") ?? ""}, 'link.updated', 1, now())`;
  await using _ = startWorker();
  // The lease is valid for longer.
  await Bun.sleep(1_000);
  expect(receiver.got).toHaveLength(0);
  await eventually(async () => expect(receiver.ids()).toEqual([id ?? ""]), 30_000);
});

test("a clock that was an hour ahead, and is set right, delays no delivery", async () => {
  const owner = await addOwner();
  let status = 500;
  await using receiver = startReceiver(() => new Response("", { status }));
  const given = await create(owner, receiver.url);
  const held = await create(owner, receiver.url);
  const [id = ""] = await record(owner, links(1));
  const worker = startWorker();
  // Both have failed once; one is given back, the other one is not, as its worker is killed.
  await eventually(async () => expect(receiver.ids()).toEqual([id, id]));
  await worker.stop();
  await postgres.sql`
    update webhooks set leased_by = ${newUuid()}, leased_until = now() + interval '5 s', wake_at = 'infinity'
     where id = ${held.row.id}`;
  await postgres.sql`
    update webhooks set leased_until = leased_until + interval '1 hour', wake_at = wake_at + interval '1 hour'
     where id in (${given.row.id}, ${held.row.id})`;
  await postgres.sql`
    update webhook_deliveries
       set next_attempt_at = next_attempt_at + interval '1 hour', last_attempt_at = last_attempt_at + interval '1 hour'
     where webhook_id in (${given.row.id}, ${held.row.id})`;
  // Made by a worker that did not come to an attempt.
  const [other = ""] = await record(owner, links(1));
  await postgres.sql`
    insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
    select ${newUuid()}, ${held.row.id}, id, type, 1, now() + interval '1 hour'
      from events where id = ${decodeId("event", other) ?? ""}`;
  // Nor does a new event wake them.
  await postgres.sql`
    update webhooks set position = 9000000000000000 where id in (${given.row.id}, ${held.row.id})`;

  status = 200;
  receiver.got.length = 0;
  await using _ = startWorker();
  await eventually(async () =>
    expect(receiver.ids().toSorted()).toEqual([id, id, other].toSorted()),
  );
});

longTest("a worker that is killed while it delivers loses nothing", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(async () => {
    await Bun.sleep(20);
    return ok();
  });
  await create(owner, receiver.url);
  const program = `
    import { ReceiverRules } from ${JSON.stringify(`${import.meta.dir}/../../shared/webhooks/variables.ts`)};
    import { workerContext } from ${JSON.stringify(`${import.meta.dir}/../../test/harness/worker-context.ts`)};
    import { Transport } from ${JSON.stringify(`${import.meta.dir}/attempt.ts`)};
    import { Deliverer } from ${JSON.stringify(`${import.meta.dir}/deliverer.ts`)};
    import postgres from "postgres";
    const sql = postgres(${JSON.stringify(postgres.url)}, { max: 4, onnotice: () => undefined });
    const rules = new ReceiverRules({ WEBHOOK_NETWORKS_ALLOWED: ["127.0.0.0/8"], WEBHOOK_PORTS_ALLOWED: ["*"] });
    const transport = new Transport(${JSON.stringify(OWN_SECRET)}, rules, async () => []);
    new Deliverer(workerContext({ sql }), transport, []);`;
  const worker = Bun.spawn([process.execPath, "-e", program], {
    cwd: PROJECT_DIR,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const linkIds = links(10);
  // More than arrive until it is killed, on a busy machine, too.
  const ids = await record(owner, Array.from({ length: 30 }, () => linkIds).flat());
  try {
    await eventually(async () => expect(receiver.got.length).toBeGreaterThan(20), 4 * WITHIN_MS);
  } finally {
    worker.kill("SIGKILL");
    await worker.exited;
  }
  expect(new Set(receiver.ids()).size).toBeLessThan(ids.length);
  await using _ = startWorker();
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

test("410 disables a webhook, which is an event for others; it continues where it was", async () => {
  const owner = await addOwner();
  let gone = true;
  await using receiver = startReceiver(() => (gone ? new Response("", { status: 410 }) : ok()));
  await using other = startReceiver(ok);
  const { row } = await create(owner, receiver.url);
  await create(owner, other.url, { events: ["webhook.disabled"] });
  const [id = ""] = await record(owner, links(1));
  await using _ = startWorker();
  await eventually(async () => {
    expect(await webhooks.get(owner, row.id)).toMatchObject({
      status: "disabled",
      disabled_reason: "gone",
    });
    expect(other.got.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: "webhook.disabled", data: { webhook: { id: encodeId("wh", row.id) } } },
    ]);
  }, 2 * WITHIN_MS);
  expect(receiver.ids()).toEqual([id]);
  gone = false;
  await webhooks.update(owner, row.id, { status: "active" });
  await eventually(async () => expect(receiver.ids().slice(0, 2)).toEqual([id, id]), 30_000);
});

test("five days of nothing but failure disable a webhook, four do not", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(() => new Response("", { status: 500 }));
  const states = await Promise.all(
    [4, 5].map(async (days) => {
      const { row } = await create(owner, receiver.url);
      await postgres.sql`
        update webhooks set failing_since = now() - make_interval(days => ${days}) where id = ${row.id}`;
      return row.id;
    }),
  );
  await record(owner, links(1));
  await using _ = startWorker();
  await eventually(async () => {
    const rows = await Promise.all(states.map((id) => webhooks.get(owner, id)));
    expect(rows.map(({ status }) => status)).toEqual(["active", "disabled"]);
    expect(receiver.got.length).toBeGreaterThan(1);
  }, 2 * WITHIN_MS);
});

test("one success ends days of failure, also for the next worker", async () => {
  const owner = await addOwner();
  let status = 200;
  await using receiver = startReceiver(() => new Response("", { status }));
  const { row } = await create(owner, receiver.url);
  await postgres.sql`
    update webhooks set failing_since = now() - make_interval(days => 6) where id = ${row.id}`;
  for (status of [200, 500]) {
    await using _ = startWorker();
    const count = receiver.got.length;
    await record(owner, links(1));
    await eventually(async () => {
      expect(receiver.got.length).toBeGreaterThan(count);
      const attempts = (await deliveriesOf(owner, row.id)).map((delivery) => delivery.attempts);
      expect(Math.min(...attempts)).toBeGreaterThan(0);
    });
  }
  expect((await webhooks.get(owner, row.id)).status).toBe("active");
});

test("a webhook gets only the types and links that it wants", async () => {
  const owner = await addOwner();
  await using typed = startReceiver(ok);
  await using linked = startReceiver(ok);
  const [wanted = "", unwanted = ""] = links(2);
  await create(owner, typed.url, { events: ["link.created"] });
  await create(owner, linked.url, { link_ids: [encodeId("link", wanted)] });
  const updates = await record(owner, [wanted, unwanted]);
  const creations = await record(owner, [unwanted, wanted], "link.created");
  await using _ = startWorker();
  await eventually(async () => {
    expect(typed.ids().toSorted()).toEqual(creations.toSorted());
    expect(linked.ids()).toEqual([updates[0] ?? "", creations[1] ?? ""]);
  });
});

test("a test reaches only its webhook; a replay repeats what came after an event", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  await using other = startReceiver(ok);
  const { row } = await create(owner, receiver.url, { events: ["link.updated"] });
  await create(owner, other.url);
  await using _ = startWorker();
  const delivery = await webhooks.test(owner, row.id);
  const testId = encodeId("event", delivery.event_id);
  const ids = await record(owner, links(3));
  await eventually(async () => {
    expect(receiver.ids().toSorted()).toEqual([testId, ...ids].toSorted());
    expect(other.ids().toSorted()).toEqual(ids.toSorted());
  });
  await webhooks.replay(owner, row.id, ids[0] ?? "");
  await eventually(async () => {
    expect(receiver.ids().slice(4).toSorted()).toEqual(ids.slice(1).toSorted());
  }, 30_000);
});

test("a paused webhook gets nothing, and all of it when it continues", async () => {
  const owner = await addOwner();
  await using receiver = startReceiver(ok);
  const { row } = await create(owner, receiver.url);
  await webhooks.update(owner, row.id, { status: "paused" });
  const ids = await record(owner, links(2));
  await using _ = startWorker();
  // Several looks for work.
  await Bun.sleep(700);
  expect(receiver.got).toHaveLength(0);
  await webhooks.update(owner, row.id, { status: "active" });
  await eventually(async () => expect(receiver.ids().toSorted()).toEqual(ids.toSorted()));
});
