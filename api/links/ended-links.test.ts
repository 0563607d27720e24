/**
 * Goal: the end of a link, by its expiry or its click limit, is recorded once, also by several
 * processes.
 */
import { expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { anyVersion, startPostgres } from "../../test/harness/postgres.ts";
import type { Writer } from "../http/principal.ts";
import { recordEndedLinks } from "./ended-links.ts";

const SHORT_URL = "https://sho.rt";

const postgres = await forFile(startPostgres());
const used: Map<Uuid, number> = new Map();

const url = "https://example.com/";

/** As several processes do. */
const recordEnds = () =>
  Promise.all(
    [1, 2, 3].map(() =>
      recordEndedLinks(
        postgres.sql,
        { read: ({ id }) => Promise.resolve(used.get(id)) },
        SHORT_URL,
      ),
    ),
  );

type Recorded = { type: string; link_id: Uuid; actor: unknown };

const recordedOf = async ({ accountId }: Writer): Promise<Recorded[]> => {
  const rows = await postgres.sql<Recorded[]>`
    select type, link_id, actor from events
     where account_id = ${accountId} and type in ('link.expired', 'link.limit_reached') order by sequence`;
  return [...rows];
};

const expire = (id: Uuid, secondsAgo: number) => postgres.sql`
  update links set expires_at = clock_timestamp() - make_interval(secs => ${secondsAgo}) where id = ${id}`;

test("links that expire are recorded once, the earliest first, and again when they expire again", async () => {
  const owner = await postgres.addWriter();
  const create = async () =>
    (await postgres.links.create(owner, newUuid(), { url, expires_at: "2090-01-01T00:00:00Z" }))
      .link;
  const [first, second, later, deleted] = [
    await create(),
    await create(),
    await create(),
    await create(),
  ];
  await postgres.sql`update event_progress set reached_at = now() - interval '1 hour', link_id = null where name = 'expiry'`;
  await expire(second.id, 20);
  await expire(first.id, 30);
  await expire(deleted.id, 25);
  await postgres.links.remove(owner, deleted.id, anyVersion);
  await recordEnds();
  await recordEnds();
  const expected = [first, second].map(({ id }) => ({
    type: "link.expired",
    link_id: id,
    actor: { type: "system" },
  }));
  expect(await recordedOf(owner)).toEqual(expected);
  // One that has only just expired may still be written at this moment.
  await expire(later.id, 1);
  await recordEnds();
  expect(await recordedOf(owner)).toHaveLength(2);
  await expire(later.id, 15);
  await expire(first.id, 12);
  await recordEnds();
  expect((await recordedOf(owner)).map(({ link_id }) => link_id)).toEqual([
    first.id,
    second.id,
    later.id,
    first.id,
  ]);
});

const addClicks = (id: Uuid, clicks: number) =>
  postgres.sql`update link_counters set clicks = clicks + ${clicks} where link_id = ${id}`;

const makeSettled = (id: Uuid) => postgres.sql`
  update limit_checks set changed_at = changed_at - interval '1 minute' where link_id = ${id}`;

const isDue = async (id: Uuid): Promise<boolean> =>
  (await postgres.sql`select from limit_checks where link_id = ${id} and changed_at is not null`)
    .length > 0;

test("a click limit is recorded once when its clicks are used, and again when it is raised", async () => {
  const owner = await postgres.addWriter();
  const create = async (max_clicks?: number) =>
    (await postgres.links.create(owner, newUuid(), { url, ...(max_clicks ? { max_clicks } : {}) }))
      .link;
  const [limited, byLedger, unlimited] = [await create(3), await create(3), await create()];
  for (const { id } of [limited, byLedger, unlimited]) await addClicks(id, 2);
  expect(await Promise.all([limited, unlimited].map(({ id }) => isDue(id)))).toEqual([true, false]);
  for (const { extras } of [limited, byLedger]) used.set(extras?.ledger?.id ?? "", 2);
  await recordEnds();
  expect(await recordedOf(owner)).toEqual([]);
  // Redirectors may not have reported the last click yet.
  expect(await isDue(byLedger.id)).toBe(true);
  used.set(byLedger.extras?.ledger?.id ?? "", 3);
  await addClicks(limited.id, 1);
  await recordEnds();
  await recordEnds();
  const idsOf = async () => (await recordedOf(owner)).map(({ link_id }) => link_id).toSorted();
  expect(await idsOf()).toEqual([limited.id, byLedger.id].toSorted());
  expect(await isDue(limited.id)).toBe(false);
  // Clicks that are counted later.
  await addClicks(byLedger.id, 1);
  await recordEnds();
  expect(await idsOf()).toHaveLength(2);

  await postgres.links.update(owner, limited.id, { max_clicks: 5 }, anyVersion);
  await addClicks(limited.id, 1);
  await recordEnds();
  expect(await idsOf()).toHaveLength(2);
  await addClicks(limited.id, 1);
  await recordEnds();
  expect(await idsOf()).toHaveLength(3);
});

test("a limit that is not reached is checked until its clicks have settled; a deleted link is forgotten", async () => {
  const owner = await postgres.addWriter();
  const { link } = await postgres.links.create(owner, newUuid(), { url, max_clicks: 100 });
  await addClicks(link.id, 1);
  await makeSettled(link.id);
  // NATS does not respond: it stays due.
  await recordEnds();
  expect(await isDue(link.id)).toBe(true);
  used.set(link.extras?.ledger?.id ?? "", 1);
  await recordEnds();
  expect(await isDue(link.id)).toBe(false);
  expect(await recordedOf(owner)).toEqual([]);
  await addClicks(link.id, 1);
  await postgres.links.remove(owner, link.id, anyVersion);
  expect(await postgres.sql`select from limit_checks where link_id = ${link.id}`).toHaveLength(0);
});
