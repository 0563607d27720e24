/** Webhooks on a real PostgreSQL: who sees them, which receivers are refused, and what is stored. */
import { describe, expect, test } from "bun:test";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { ReceiverRules } from "../../shared/webhooks.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { EventPositions } from "../events/service.ts";
import { deleteExpiredRows } from "../expired-rows.ts";
import type { CreateWebhookBody } from "./model.ts";
import { WebhookService } from "./service.ts";

const RULES = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: [],
  WEBHOOK_PORTS_ALLOWED: ["443", "80"],
});

const OWN_SECRET = "what secrets are derived from in this test";

const HOOK: CreateWebhookBody = {
  url: "https://hooks.example.com/a#b",
  events: ["link.created", "link.created"],
};

const postgres = await forFile(startPostgres());
const positions = new EventPositions(postgres.sql);
const webhooks = new WebhookService(postgres.sql, positions, RULES, OWN_SECRET);

describe("receivers", () => {
  test.each([
    "ftp://hooks.example.com/",
    "https://user:password@hooks.example.com/",
    "https://localhost/",
    "https://metadata.google.internal/",
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://169.254.169.254/latest",
    "https://hooks.example.com:22/",
    "https://127.0.0.1.nip.io/",
  ])("%s is refused", async (url) => {
    const owner = await postgres.addWriter();
    expect(await outcomeOf(webhooks.create(owner, newUuid(), { ...HOOK, url }))).toBe(
      "invalid_url",
    );
    const { row } = await webhooks.create(owner, newUuid(), HOOK);
    expect(await outcomeOf(webhooks.update(owner, row.id, { url }))).toBe("invalid_url");
  });

  test("a private network and a port can be allowed", async () => {
    const rules = new ReceiverRules({
      WEBHOOK_NETWORKS_ALLOWED: ["10.0.0.0/8"],
      WEBHOOK_PORTS_ALLOWED: ["8080"],
    });
    const local = new WebhookService(
      postgres.sql,
      new EventPositions(postgres.sql),
      rules,
      OWN_SECRET,
    );
    const owner = await postgres.addWriter();
    const create = (url: string) => outcomeOf(local.create(owner, newUuid(), { ...HOOK, url }));
    expect(await create("http://10.1.2.3:8080/")).toBe("done");
    expect(await create("http://hooks.internal:8080/")).toBe("done");
    expect(await create("http://192.168.1.1:8080/")).toBe("invalid_url");
    expect(await create("http://10.1.2.3/")).toBe("invalid_url");
  });
});

test("the database has neither a secret nor what is enough to derive it", async () => {
  const owner = await postgres.addWriter();
  const { row, secret } = await webhooks.create(owner, newUuid(), HOOK);
  const rotated = await webhooks.rotate(owner, row.id);
  expect(rotated.secret).not.toBe(secret);
  const [stored] = await postgres.sql<{ text: string }[]>`
    select webhooks::text as text from webhooks where id = ${row.id}`;
  for (const text of [secret, rotated.secret]) {
    const key = Buffer.from(text.slice("whsec_".length), "base64");
    expect(key).toHaveLength(32);
    expect(stored?.text).not.toContain(key.toString("hex").slice(0, 16));
    expect(stored?.text).not.toContain(text.slice("whsec_".length, 30));
  }
});

test("a repeated creation of one request makes one webhook", async () => {
  const owner = await postgres.addWriter();
  const id = newUuid();
  const first = await webhooks.create(owner, id, HOOK);
  const second = await webhooks.create(owner, id, HOOK);
  expect(second.row.id).toBe(first.row.id);
  expect((await webhooks.list(owner, { limit: 10, page: 1 })).total).toBe(1);
});

test("fields are stored as they were sent, without duplicates and fragments", async () => {
  const owner = await postgres.addWriter();
  const linkId = newUuid();
  const { row } = await webhooks.create(owner, newUuid(), {
    ...HOOK,
    link_ids: [encodeId("link", linkId)],
    tags: ["spring"],
  });
  expect(row).toMatchObject({
    url: "https://hooks.example.com/a",
    events: ["link.created"],
    link_ids: [linkId],
    tags: ["spring"],
    domains: null,
    status: "active",
  });
  const changed = await webhooks.update(owner, row.id, { link_ids: null, domains: ["a.example"] });
  expect(changed).toMatchObject({ link_ids: null, tags: ["spring"], domains: ["a.example"] });
  const mixed = webhooks.update(owner, row.id, { events: ["*", "link.created"] });
  expect(await outcomeOf(mixed)).toBe("invalid_request");
  const wrong = webhooks.update(owner, row.id, { link_ids: ["link_none"] });
  expect(await outcomeOf(wrong)).toBe("invalid_request");
});

/** That they do not find the webhook itself is in `test/api/access.test.ts`. */
test("another account, and the other mode, find no delivery and no event", async () => {
  const owner = await postgres.addWriter();
  const { row } = await webhooks.create(owner, newUuid(), HOOK);
  const delivery = await webhooks.test(owner, row.id);
  for (const stranger of [await postgres.addWriter(), { ...owner, mode: "test" as const }]) {
    const own = await webhooks.create(stranger, newUuid(), HOOK);
    const foreign = encodeId("event", delivery.event_id);
    expect(await outcomeOf(webhooks.retry(stranger, own.row.id, delivery.id))).toBe("not_found");
    expect(await outcomeOf(webhooks.replay(stranger, own.row.id, foreign))).toBe("invalid_request");
  }
});

test("a replay goes on after the event that it names, also after an earlier one", async () => {
  const owner = await postgres.addWriter();
  const { row } = await webhooks.create(owner, newUuid(), HOOK);
  const sent = [await webhooks.test(owner, row.id), await webhooks.test(owner, row.id)];
  for (const { event_id } of sent.toReversed()) {
    const event = encodeId("event", event_id);
    await webhooks.replay(owner, row.id, event);
    const [stored] = await postgres.sql<{ position: number }[]>`
      select position::float8 as position from webhooks where id = ${row.id}`;
    expect(stored?.position).toBe(await positions.find(owner, event));
  }
});

test("a paused webhook is neither tested nor retried; its deliveries are due when it continues", async () => {
  const owner = await postgres.addWriter();
  const { row } = await webhooks.create(owner, newUuid(), HOOK);
  const { id } = await webhooks.test(owner, row.id);
  await postgres.sql`update webhook_deliveries set next_attempt_at = now() + interval '1 d' where id = ${id}`;
  await webhooks.update(owner, row.id, { status: "paused" });
  expect(await outcomeOf(webhooks.test(owner, row.id))).toBe("conflict");
  expect(await outcomeOf(webhooks.retry(owner, row.id, id))).toBe("conflict");
  await webhooks.update(owner, row.id, { status: "active" });
  const { rows } = await webhooks.listDeliveries(owner, row.id, "pending", { limit: 10, page: 1 });
  expect(rows.map(({ next_attempt_at }) => Number(next_attempt_at) <= Date.now() + 1_000)).toEqual([
    true,
  ]);
});

test("an account has a number of webhooks at most, also if it creates them at once", async () => {
  const owner = await postgres.addWriter();
  const codes = await Promise.all(
    Array.from({ length: 52 }, () => outcomeOf(webhooks.create(owner, newUuid(), HOOK))),
  );
  expect(codes.filter((code) => code === "quota_exceeded")).toHaveLength(2);
  expect((await webhooks.list(owner, { limit: 1, page: 1 })).total).toBe(50);
});

test("without a secret of the installation there are no webhooks", async () => {
  const off = new WebhookService(postgres.sql, new EventPositions(postgres.sql), RULES, undefined);
  expect(await outcomeOf(off.create(await postgres.addWriter(), newUuid(), HOOK))).toBe(
    "unavailable",
  );
});

test("deliveries are deleted after 30 days, unless they are pending", async () => {
  const owner = await postgres.addWriter();
  const { row } = await webhooks.create(owner, newUuid(), HOOK);
  const add = async (days: number, status: string): Promise<Uuid> => {
    const { id } = await webhooks.test(owner, row.id);
    await postgres.sql`
      update webhook_deliveries set status = ${status}, created_at = now() - make_interval(days => ${days})
       where id = ${id}`;
    return id;
  };
  await add(31, "delivered");
  const kept = [await add(31, "pending"), await add(29, "failed")];
  await deleteExpiredRows(postgres.sql);
  const { rows } = await webhooks.listDeliveries(owner, row.id, undefined, { limit: 10, page: 1 });
  expect(rows.map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
});
