/**
 * Goal: whatever writes links takes what it writes from the account's budgets, also what follows:
 * events, and deliveries to webhooks.
 */
import { afterEach, expect, spyOn, test } from "bun:test";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { useUp } from "../../test/harness/budgets.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { anyVersion, startPostgres, upsertLink } from "../../test/harness/postgres.ts";
import { ApiError } from "../http/errors.ts";
import type { Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";

const postgres = await forFile(startPostgres());

const spend = await forFile(spyOn(budgets, "spend"));
afterEach(() => void spend.mockClear());

/** What has been taken from a budget since the test began. */
const taken = (name: string): number =>
  spend.mock.calls.reduce((sum, [, of, units]) => (of === name ? sum + units : sum), 0);

/** Of a link, most of which is its destination. */
const url = `https://example.com/${"x".repeat(7_000)}`;

async function createMany(owner: Writer, count: number, tags: string[] = []): Promise<Uuid[]> {
  const rows = Array.from({ length: count }, () => ({ url, tags }));
  const { results } = await postgres.links.createMany(owner, newUuid(), rows);
  return results.flatMap((result) => ("link" in result ? result.link.id : []));
}

const addWebhook = ({ accountId, mode }: Writer, events: string[]) => postgres.sql`
  insert into webhooks (id, account_id, mode, url, events, salt, position)
  values (${newUuid()}, ${accountId}, ${mode}, 'https://example.com/', ${events}, ${Buffer.alloc(16)}, 0)`;

const readEvents = async ({ accountId }: Writer) =>
  await postgres.sql<
    { type: string; bytes: number; data: Record<string, unknown> }[]
  >`select type, bytes, data from events where account_id = ${accountId} order by id`;

test("every link that is written counts, and the bytes of its event", async () => {
  const owner = await postgres.addWriter("free");
  const ids = await createMany(owner, 10);
  expect([taken("changed_links"), taken("ledger_bytes") > 70_000]).toEqual([10, true]);
  spend.mockClear();
  const changes = ids.map((id) => ({ id: encodeId("link", id), title: "New" }));
  await postgres.links.updateMany(owner, changes);
  expect([taken("changed_links"), taken("ledger_bytes") > 70_000]).toEqual([10, true]);
  spend.mockClear();
  await postgres.links.removeMany(
    owner,
    changes.slice(0, 4).map(({ id }) => id),
  );
  expect([taken("changed_links"), taken("ledger_bytes") > 28_000]).toEqual([4, true]);
});

test("rows of a bulk creation count once they are links, and the refusal says how many and when", async () => {
  const owner = await postgres.addWriter("free");
  const { links } = postgres;
  const rows = ["row-1", "row-2", "row-1"].map((alias) => ({ url, alias }));
  const id = newUuid();
  await links.createMany(owner, id, rows);
  await links.createMany(owner, newUuid(), [...rows, { url: "nonsense" }]);
  expect(taken("bulk_rows")).toBe(2);
  const upsert = (externalId: string) => upsertLink(links, owner, externalId, { url });
  await upsert("mine");
  await upsert("mine");
  await links.create(owner, newUuid(), { url });
  expect(taken("bulk_rows")).toBe(3);

  useUp(owner, "bulk_rows");
  for (const work of [links.createMany(owner, newUuid(), [{ url }]), upsert("other")]) {
    const refusal = await work.catch((error: unknown) => error instanceof ApiError && error);
    expect(refusal).toMatchObject({ status: 429 });
    expect(refusal && "message" in refusal && refusal.message).toMatch(
      /\(bulk_rows: 500 rows at once, and 500 an hour\)\. Try again in \d+ seconds\.$/,
    );
  }
  // Refused before it costs anything: its rows are not even read.
  let isRead = false;
  const unread = {
    get url() {
      isRead = true;
      return url;
    },
  };
  expect(links.createMany(owner, newUuid(), [unread])).rejects.toMatchObject({ status: 429 });
  expect(isRead).toBe(false);
  expect(await links.checkMany(owner, [{ url }])).toEqual([undefined]);
  expect(await upsert("mine")).toBeObject();
  expect((await links.create(owner, newUuid(), { url })).propagated).toBeBoolean();
});

test("aliases of others are said to be taken to those alone who have not asked for too many", async () => {
  const owner = await postgres.addWriter("free");
  const { links } = postgres;
  const rows = [{ url, alias: "asked-1" }, { url, alias: "asked-2" }, { url }];
  await links.checkMany(owner, rows);
  expect(taken("checked_aliases")).toBe(2);
  useUp(owner, "checked_aliases");
  expect(() => links.checkMany(owner, rows)).toThrow(/\(checked_aliases: 10,000 aliases at once/);
  // What names no alias says nothing of others.
  expect(await links.checkMany(owner, [{ url }])).toEqual([undefined]);
});

test("a change of a tag records what names each link and its tags, and not the rest of it", async () => {
  const owner = await postgres.addWriter("free");
  await createMany(owner, 50, ["old"]);
  spend.mockClear();
  await postgres.tags.merge(owner, ["old"], "new");
  const events = (await readEvents(owner)).filter(({ type }) => type === "link.updated");
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
  console.log(`A change of a tag of 50 links writes ${bytes} bytes of events`);
  expect(events).toHaveLength(50);
  expect(bytes).toBeLessThan(50 * 512);
  expect(events[0]?.data).toEqual({
    link: {
      id: expect.any(String),
      short_url: expect.stringContaining("https://sho.rt/"),
      title: null,
      tags: ["new"],
    },
    changes: { tags: { before: ["old"], after: ["new"] } },
  });
  expect(taken("ledger_bytes")).toBeWithin(bytes, bytes + 50 * 1_024);
});

test("deliveries to webhooks count before they are made", async () => {
  const owner = await postgres.addWriter("free");
  await createMany(owner, 10, ["old"]);
  for (let i = 0; i < 5; i++) await addWebhook(owner, i < 3 ? ["*"] : ["link.updated"]);
  await addWebhook(owner, ["domain.created"]);
  spend.mockClear();
  await postgres.tags.merge(owner, ["old"], "new");
  expect(taken("ledger_bytes")).toBeGreaterThan(10 * 5 * 1_024);
  expect(taken("ledger_bytes")).toBeLessThan(10 * 6 * 1_024 + 10 * 1_024);
});

test.each(["ledger_bytes", "changed_links"] as const)(
  "an account that has used up %s writes no link in any way, and others do",
  async (name) => {
    const [owner, other] = [await postgres.addWriter("free"), await postgres.addWriter("free")];
    const [id = newUuid()] = await createMany(owner, 1, ["old"]);
    useUp(owner, name);
    const { links, tags } = postgres;
    const refused = [
      links.create(owner, newUuid(), { url }),
      links.createMany(owner, newUuid(), [{ url }]),
      links.update(owner, id, { title: "New" }, anyVersion),
      links.updateMany(owner, [{ id: encodeId("link", id), title: "New" }]),
      links.remove(owner, id, anyVersion),
      links.removeMany(owner, [encodeId("link", id)]),
      tags.merge(owner, ["old"], "new"),
      tags.remove(owner, "old"),
      tags.change(owner, "old", { name: "new" }),
    ].map((work) => work.catch((error: unknown) => error instanceof ApiError && error.message));
    for (const refusal of await Promise.all(refused)) expect(refusal).toContain(`(${name}: `);
    expect((await readEvents(owner)).map(({ type }) => type)).toEqual(["link.created"]);
    expect(await createMany(other, 1)).toHaveLength(1);
  },
);
