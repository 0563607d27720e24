/** Goal: events reach the webhooks that want them, once, signed and in order for each link. */
import { expect, test } from "bun:test";

import { Webhook } from "standardwebhooks";

import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { newLinks, TestWebhooks } from "../../test/harness/test-webhooks.ts";
import { type Delivered, WebhookReceiver } from "../../test/harness/webhook-receiver.ts";

const world = await forFile(TestWebhooks.start());
const { service: webhooks } = world;
const { sql } = world.postgres;

test("a webhook of a chat gets messages", async () => {
  const owner = await world.addOwner();
  await using slack = new WebhookReceiver();
  await using discord = new WebhookReceiver();
  await world.create(owner, slack.url, { format: "slack" });
  await world.create(owner, discord.url, { format: "discord" });
  const [id = ""] = await world.record(owner, newLinks(1), "link.created");
  await using _ = world.startWorker();
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
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  await world.record(owner, newLinks(1));
  const { row, secret } = await world.create(owner, receiver.url);
  const ids = await world.record(owner, newLinks(3));
  await using _ = world.startWorker();
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
    const deliveries = await world.deliveriesOf(owner, row.id);
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
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  const { row, secret: old } = await world.create(owner, receiver.url);
  const { secret } = await webhooks.rotate(owner, row.id);
  const deliverOne = async () => {
    await using _ = world.startWorker();
    const [id] = await world.record(owner, newLinks(1));
    return await eventually(async () => {
      const delivered = receiver.got.find((one) => one.id === id);
      if (delivered === undefined) throw new Error("not delivered");
      return delivered;
    });
  };
  const first = await deliverOne();
  expect([old, secret].map((key) => isVerifiedBy(key, first))).toEqual([true, true]);
  await sql`update webhooks set old_until = now() where id = ${row.id}`;
  const second = await deliverOne();
  expect([old, secret].map((key) => isVerifiedBy(key, second))).toEqual([false, true]);
});

test("events of one link wait for each other, those of others do not", async () => {
  const owner = await world.addOwner();
  const [slow = "", other = ""] = newLinks(2);
  let refuse = true;
  await using receiver = new WebhookReceiver(({ body }) =>
    refuse && body.includes(encodeId("link", slow))
      ? new Response("no", { status: 500 })
      : new Response(),
  );
  const { row } = await world.create(owner, receiver.url);
  const ids = await world.record(owner, [slow, other, slow, other, slow]);
  await using _ = world.startWorker();
  const others = [ids[1] ?? "", ids[3] ?? ""];
  await eventually(async () => {
    expect(receiver.ids().filter((id) => others.includes(id))).toEqual(others);
    expect(receiver.ids()).toContain(ids[0] ?? "");
  });
  expect(receiver.ids()).not.toContain(ids[2] ?? "");
  refuse = false;
  const [first] = await sql<{ id: Uuid }[]>`
    select id from webhook_deliveries where webhook_id = ${row.id} and event_id = ${decodeId("event", ids[0] ?? "") ?? ""}`;
  await webhooks.retry(owner, row.id, first?.id);
  const inOrder = [ids[0], ids[2], ids[4]];
  await eventually(async () => {
    const delivered = receiver.ids().filter((id) => inOrder.includes(id));
    expect(delivered.slice(-3)).toEqual(inOrder.map((id) => id ?? ""));
  });
});

test("at another URL what waits is delivered at once, and so is a test, also where all had failed", async () => {
  const owner = await world.addOwner();
  await using broken = new WebhookReceiver(() => new Response("no", { status: 500 }));
  await using mended = new WebhookReceiver();
  const { row } = await world.create(owner, broken.url);
  const [link = ""] = newLinks(1);
  const ids = await world.record(owner, [link, link]);
  await sql`
    update webhooks set failing_since = now() - interval '1 day' where id = ${row.id}`;
  await using _ = world.startWorker();
  // The second waits for the first, and both for a minute.
  await eventually(async () => expect(broken.got).toHaveLength(1));
  await eventually(async () =>
    expect((await world.deliveriesOf(owner, row.id)).at(-1)?.attempts).toBe(1),
  );
  await webhooks.update(owner, row.id, { url: mended.url });
  const tested = await webhooks.test(owner, row.id);
  const all = [...ids, encodeId("event", tested.event_id)].toSorted();
  await eventually(async () => expect(mended.ids().toSorted()).toEqual(all));
  expect(broken.got).toHaveLength(1);
});

test("an event after a change of what a webhook gets is judged by the change", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  const { row } = await world.create(owner, receiver.url, { events: ["link.created"] });
  const [first = ""] = await world.record(owner, newLinks(1), "link.created");
  await using _ = world.startWorker();
  await eventually(async () => expect(receiver.ids()).toEqual([first]));
  const [wanted = "", other = ""] = newLinks(2);
  await webhooks.update(owner, row.id, {
    events: ["link.updated"],
    link_ids: [encodeId("link", wanted)],
  });
  const [, id = ""] = await world.record(owner, [other, wanted]);
  await eventually(async () => expect(receiver.ids()).toEqual([first, id]));
});

test("410 disables a webhook, which is an event for others; it continues where it was", async () => {
  const owner = await world.addOwner();
  let gone = true;
  await using receiver = new WebhookReceiver(() =>
    gone ? new Response("", { status: 410 }) : new Response(),
  );
  await using other = new WebhookReceiver();
  const { row } = await world.create(owner, receiver.url);
  await world.create(owner, other.url, { events: ["webhook.disabled"] });
  const [id = ""] = await world.record(owner, newLinks(1));
  await using _ = world.startWorker();
  await eventually(async () => {
    expect(await webhooks.get(owner, row.id)).toMatchObject({
      status: "disabled",
      disabled_reason: "gone",
    });
    expect(other.got.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: "webhook.disabled", data: { webhook: { id: encodeId("wh", row.id) } } },
    ]);
  });
  expect(receiver.ids()).toEqual([id]);
  gone = false;
  await webhooks.update(owner, row.id, { status: "active" });
  await eventually(async () => expect(receiver.ids().slice(0, 2)).toEqual([id, id]), 30_000);
});

test("five days of nothing but failure disable a webhook, four do not", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver(() => new Response("", { status: 500 }));
  const states = await Promise.all(
    [4, 5].map(async (days) => {
      const { row } = await world.create(owner, receiver.url);
      await sql`
        update webhooks set failing_since = now() - make_interval(days => ${days}) where id = ${row.id}`;
      return row.id;
    }),
  );
  await world.record(owner, newLinks(1));
  await using _ = world.startWorker();
  await eventually(async () => {
    const rows = await Promise.all(states.map((id) => webhooks.get(owner, id)));
    expect(rows.map(({ status }) => status)).toEqual(["active", "disabled"]);
    expect(receiver.got.length).toBeGreaterThan(1);
  });
});

test("one success ends days of failure, also for the next worker", async () => {
  const owner = await world.addOwner();
  let status = 200;
  await using receiver = new WebhookReceiver(() => new Response("", { status }));
  const { row } = await world.create(owner, receiver.url);
  await sql`
    update webhooks set failing_since = now() - make_interval(days => 6) where id = ${row.id}`;
  for (status of [200, 500]) {
    await using _ = world.startWorker();
    const count = receiver.got.length;
    await world.record(owner, newLinks(1));
    await eventually(async () => {
      expect(receiver.got.length).toBeGreaterThan(count);
      const attempts = (await world.deliveriesOf(owner, row.id)).map(
        (delivery) => delivery.attempts,
      );
      expect(Math.min(...attempts)).toBeGreaterThan(0);
    });
  }
  expect((await webhooks.get(owner, row.id)).status).toBe("active");
});

test("a test reaches only its webhook; a replay repeats what came after an event", async () => {
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  await using other = new WebhookReceiver();
  const { row } = await world.create(owner, receiver.url, { events: ["link.updated"] });
  await world.create(owner, other.url);
  await using _ = world.startWorker();
  const delivery = await webhooks.test(owner, row.id);
  const testId = encodeId("event", delivery.event_id);
  const ids = await world.record(owner, newLinks(3));
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
  const owner = await world.addOwner();
  await using receiver = new WebhookReceiver();
  const { row } = await world.create(owner, receiver.url);
  await webhooks.update(owner, row.id, { status: "paused" });
  const ids = await world.record(owner, newLinks(2));
  await using _ = world.startWorker();
  // Several looks for work.
  await Bun.sleep(700);
  expect(receiver.got).toHaveLength(0);
  await webhooks.update(owner, row.id, { status: "active" });
  await eventually(async () => expect(receiver.ids().toSorted()).toEqual(ids.toSorted()));
});
