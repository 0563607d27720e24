/**
 * Goal: whoever follows the feed by cursor gets every event once, in one order that never changes,
 * however transactions commit. Method: many connections write at once, hold their transactions open
 * and roll some back, while readers follow; then what each has read is compared with the table.
 */
import { describe, expect, test } from "bun:test";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { errorCodeOf, FakeApi } from "../../test/harness/fake-api.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { SIGNER } from "../../test/harness/links-log.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import type { Author } from "../http/principal.ts";
import { postgresPool } from "../postgres.ts";
import { deleteAndSign } from "./chain.ts";
import type { EventsQuery } from "./model.ts";
import { recordEvents } from "./record.ts";
import { EventPositions, EventService, EventWaits } from "./service.ts";

const WRITERS = 50;
const READERS = 5;

/** Transactions of each writer; thousands show rarer orders. */
const TURNS = Number(process.env["EVENTS_TEST_TURNS"] ?? 20);

/** Connections are opened at once, on a machine that may be busy. */
const PATIENT = { connectTimeoutSeconds: 60, statementTimeoutMs: 120_000 };

/** However long a busy machine takes to give positions. */
const PATIENT_MS = 120_000;

const log = processLog("test", "silent");

const postgres = await forFile(startPostgres());
const { sql } = postgres;
const waits = await forFile(new EventWaits(sql, log, 20), (waits) => waits.stop());
const events = new EventService(sql, waits, new EventPositions(sql, PATIENT_MS));

const never = new AbortController().signal;

const confirm = () => Promise.resolve();

const list = (owner: Author, query: Partial<EventsQuery> = {}, signal = never) =>
  events.list(
    { ...owner, scopes: [] },
    { limit: 100, wait: 0, order: "asc", ...query },
    { signal, confirm },
  );

const note = (value: number) => ({
  type: "link.created" as const,
  objectId: null,
  data: { value },
});

const record = (author: Author, ...values: number[]) =>
  postgres.sql.begin((sql) => recordEvents(sql, author, values.map(note)));

const valuesOf = ({ data }: Awaited<ReturnType<typeof list>>) =>
  data.map(({ data }) => data["value"]);

longTest("50 writers and readers by cursor: nothing is missed, repeated or reordered", async () => {
  const author = await postgres.addWriter();
  const sql = postgresPool(postgres.url, WRITERS, PATIENT);
  await Promise.all(Array.from({ length: WRITERS }, () => sql`select pg_sleep(0.1)`));
  let written = 0;
  let over = false;

  /** Each writer changes one link after another, under its lock, as the API does. */
  async function write(writer: number): Promise<void> {
    for (let i = 0; i < TURNS; i++) {
      const isRolledBack = i % 7 === 3;
      await sql
        .begin(async (transaction) => {
          const link = (writer + i) % 10;
          await transaction`select pg_advisory_xact_lock(hashtextextended(${`link ${link}`}, 9))`;
          const [row] = await transaction<[{ turn: string }]>`
            select count(*) as turn from events
             where account_id = ${author.accountId} and object_id = ${linkId(link)}`;
          const event = { ...note(Number(row.turn)), objectId: linkId(link) };
          await recordEvents(transaction, author, [event]);
          await Bun.sleep(Math.random() * 10);
          if (isRolledBack) throw new Error("rolled back");
          // Before the commit, so that the lock still holds while another connection may be faster.
          await transaction`select pg_sleep(${Math.random() / 200})`;
        })
        .then(() => void written++)
        .catch((error: unknown) => {
          if (!isRolledBack) throw error;
        });
    }
  }

  async function follow(): Promise<string[]> {
    const ids: string[] = [];
    let after: string | undefined;
    for (;;) {
      const wasOver = over;
      const page = await list(author, {
        wait: over ? 0 : 1,
        ...(after === undefined ? {} : { starting_after: after }),
      });
      ids.push(...page.data.map(({ id }) => id));
      after = page.next_cursor;
      if (wasOver && page.data.length === 0 && !page.has_more) return ids;
    }
  }

  const readers = Array.from({ length: READERS }, follow);
  await Promise.all(Array.from({ length: WRITERS }, (_, i) => write(i)));
  over = true;
  const lists = await Promise.all(readers);
  await sql.end();

  const rows = await postgres.sql<{ object_id: Uuid; value: number }[]>`
    select object_id, (data ->> 'value')::integer as value from events
     where account_id = ${author.accountId} order by position`;
  expect(written).toBeGreaterThan((WRITERS * TURNS) / 2);
  expect(rows).toHaveLength(written);
  const whole = await list(author);
  for (const ids of lists) {
    expect(new Set(ids).size).toBe(written);
    expect(ids).toEqual(lists[0] ?? []);
    expect(ids.slice(0, whole.data.length)).toEqual(whole.data.map(({ id }) => id));
  }
  // Changes of one link are in the order in which its lock was held.
  for (let link = 0; link < 10; link++) {
    const turns = rows.filter((row) => row.object_id === linkId(link)).map(({ value }) => value);
    expect(turns).toEqual(turns.map((_, i) => i));
  }
});

/** Deletes events that are older than so many days. */
const deleteOld = (days: number, max: number) =>
  deleteAndSign(postgres.sql, SIGNER, { days, auditDays: days }, max);

const linkId = (link: number): Uuid => `00000000-0000-7000-8000-00000000000${link}`;

/** Somebody whose only event was read when the clock was an hour ahead. */
async function readAhead() {
  const author = await postgres.addWriter();
  await record(author, 1);
  await list(author);
  const ahead = Date.now() * 1_000 + 3_600_000_000;
  for (const table of ["events", "event_heads"])
    await postgres.sql`
      update ${postgres.sql(table)} set position = ${ahead} where account_id = ${author.accountId}`;
  const { next_cursor: after } = await list(author);
  return { author, after };
}

describe("the order of the feed", () => {
  test("goes on above every cursor when the database is an earlier one, or its events are gone", async () => {
    const author = await postgres.addWriter();
    await record(author, 1);
    const known = await list(author);
    // As a client knows it whose events came from a later state of this database.
    await postgres.sql`delete from events where account_id = ${author.accountId}`;
    await record(author, 2);
    expect(valuesOf(await list(author, { starting_after: known.next_cursor }))).toEqual([2]);
  });

  test("does not depend on the clock", async () => {
    const { author, after } = await readAhead();
    await record(author, 2, 3);
    expect(valuesOf(await list(author, { starting_after: after }))).toEqual([2, 3]);
  });

  test("goes on above deleted events, whatever the clock says", async () => {
    const { author, after } = await readAhead();
    await age(author, 31);
    expect(await deleteOld(30, 100)).toBe(1);
    await record(author, 2);
    expect(valuesOf(await list(author, { starting_after: after }))).toEqual([2]);
  });
});

describe("many events that nobody has read", () => {
  test("get their positions in pieces, of which each stays when the time is over", async () => {
    const author = await postgres.addWriter();
    await record(author, ...Array.from({ length: 11_000 }, (_, i) => i));
    const hasty = new EventPositions(postgres.sql, -1);
    expect(await outcomeOf(hasty.last(author))).toBe("unavailable");
    const [{ waiting }] = await postgres.sql<[{ waiting: number }]>`
      select count(*)::integer as waiting from events
       where account_id = ${author.accountId} and position is null`;
    expect(waiting).toBe(6_000);
    const patient = new EventPositions(postgres.sql, PATIENT_MS);
    const { next_cursor: after } = await list(author, { starting_after: "latest" });
    expect(await patient.last(author)).toBeGreaterThan(0);
    expect((await list(author, { starting_after: after })).data).toEqual([]);
  });

  test("are before the event that is named last, and after the last cursor", async () => {
    const author = await postgres.addWriter();
    await record(author, ...Array.from({ length: 11_000 }, (_, i) => i));
    const [{ id }] = await postgres.sql<[{ id: Uuid }]>`
      select id from events where account_id = ${author.accountId} order by sequence desc limit 1`;
    expect((await list(author, { starting_after: encodeId("event", id) })).data).toEqual([]);
  });
});

describe("a page", () => {
  test("has only what matches, and goes on after what does not", async () => {
    const author = await postgres.addWriter();
    const link = newUuid();
    await postgres.sql.begin((sql) =>
      recordEvents(sql, author, [
        note(1),
        { ...note(2), type: "link.deleted", linkId: link },
        { ...note(3), linkId: link },
      ]),
    );
    expect(valuesOf(await list(author, { type: "link.deleted" }))).toEqual([2]);
    expect(valuesOf(await list(author, { type: ["link.created", "link.deleted"] }))).toEqual([
      1, 2, 3,
    ]);
    const none = await list(author, { type: "key.created" });
    expect([none.data, none.has_more]).toEqual([[], false]);
    await record(author, 4);
    expect(valuesOf(await list(author, { starting_after: none.next_cursor }))).toEqual([4]);
  });

  test("examines 5,000 events and then says that there may be more", async () => {
    const author = await postgres.addWriter();
    await record(author, ...Array.from({ length: 5_000 }, (_, i) => i));
    await postgres.sql.begin((sql) =>
      recordEvents(sql, author, [{ ...note(1), type: "link.deleted" }]),
    );
    const page = await list(author, { type: "link.deleted" });
    expect([page.data, page.has_more]).toEqual([[], true]);
    const next = await list(author, { type: "link.deleted", starting_after: page.next_cursor });
    expect([valuesOf(next), next.has_more]).toEqual([[1], false]);
  });

  test("ends after a mebibyte, but has one event at least", async () => {
    const author = await postgres.addWriter();
    const large = { ...note(1), data: { value: 1, text: "x".repeat(700_000) } };
    await postgres.sql.begin((sql) => recordEvents(sql, author, [large, large, note(2)]));
    const first = await list(author);
    expect([first.data.length, first.has_more]).toEqual([1, true]);
    const second = await list(author, { starting_after: first.next_cursor });
    expect([valuesOf(second), second.has_more]).toEqual([[1, 2], false]);
  });

  test("begins at a cursor, after an event, or now; never in another account or mode", async () => {
    const author = await postgres.addWriter();
    await record(author, 1, 2);
    const [first] = (await list(author)).data;
    expect(valuesOf(await list(author, { starting_after: first?.id ?? "" }))).toEqual([2]);
    const latest = await list(author, { starting_after: "latest" });
    expect(latest.data).toEqual([]);
    await record(author, 3);
    expect(valuesOf(await list(author, { starting_after: latest.next_cursor }))).toEqual([3]);
    expect((await list({ ...author, mode: "test" })).data).toEqual([]);
    const other = await postgres.addWriter();
    expect((await list(other)).data).toEqual([]);
    expect(await outcomeOf(list(other, { starting_after: first?.id ?? "" }))).toBe(
      "cursor_expired",
    );
    const invalid = await list(author, { starting_after: "nothing" }).catch(
      (error: unknown) => error,
    );
    expect(invalid).toMatchObject({ reason: "invalid_request", param: "starting_after" });
  });
});

/** Makes events older, by their ids. */
const age = (author: Author, days: number) => postgres.sql`
  update events
     set id = (lpad(to_hex((extract(epoch from now() - make_interval(days => ${days})) * 1000)::bigint), 12, '0')
               || substr(replace(id::text, '-', ''), 13))::uuid
   where account_id = ${author.accountId}`;

describe("retention", () => {
  test("deletes what is older, in batches, and a reader who has missed some is told", async () => {
    const author = await postgres.addWriter();
    await record(author, 1);
    const early = await list(author);
    await record(author, 2, 3);
    const late = await list(author, { starting_after: early.next_cursor });
    await age(author, 31);
    await record(author, 4);
    expect(await deleteOld(30, 2)).toBe(2);
    expect(await deleteOld(30, 2)).toBe(1);
    expect(await deleteOld(30, 2)).toBe(0);
    expect(await outcomeOf(list(author, { starting_after: early.next_cursor }))).toBe(
      "cursor_expired",
    );
    expect(valuesOf(await list(author, { starting_after: late.next_cursor }))).toEqual([4]);
    expect(valuesOf(await list(author))).toEqual([4]);
  });

  test("of events that nobody has read yet is no secret either", async () => {
    const author = await postgres.addWriter();
    await record(author, 1);
    const { next_cursor: after } = await list(author);
    await record(author, 2);
    await age(author, 31);
    await deleteOld(30, 100);
    expect(await outcomeOf(list(author, { starting_after: after }))).toBe("cursor_expired");
    const { next_cursor: now } = await list(author, { starting_after: "latest" });
    await record(author, 3);
    expect(valuesOf(await list(author, { starting_after: now }))).toEqual([3]);
  });

  test("is a day at least", async () => {
    const refused = await deleteOld(0, 1).catch((error: unknown) => error);
    expect(String(refused)).toContain("a day at least");
  });
});

describe("waiting", () => {
  test("ends with the event, without holding a connection", async () => {
    const author = await postgres.addWriter();
    const { next_cursor: after } = await list(author);
    const waiting = Array.from({ length: 10 }, () =>
      list(author, { starting_after: after, wait: 20 }),
    );
    while (waits.count < 10) await Bun.sleep(5);
    expect(await outcomeOf(list(author, { starting_after: after, wait: 20 }))).toBe("rate_limited");
    await record(author, 1);
    for (const page of await Promise.all(waiting)) expect(valuesOf(page)).toEqual([1]);
    expect(waits.count).toBe(0);
  });

  test("returns nothing to a key that was revoked meanwhile, in whatever way the wait ends", async () => {
    const author = await postgres.addWriter();
    const api = new FakeApi({ events });
    for (const { wait, happens } of [
      { wait: 20, happens: true },
      { wait: 1, happens: false },
    ]) {
      const key = api.addKey({ accountId: author.accountId });
      const { body } = await api.send("/v1/events?starting_after=latest", { key });
      const { next_cursor: after } = body as { next_cursor: string };
      const waiting = api.send(`/v1/events?starting_after=${after}&wait=${wait}`, { key });
      while (waits.count < 1) await Bun.sleep(5);
      key.state = "revoked";
      if (happens) await record(author, 1);
      const response = await waiting;
      expect([response.status, errorCodeOf(response)]).toEqual([403, "key_revoked"]);
      expect(response.text).not.toContain("link.created");
    }
  });

  test("goes on past events that do not match", async () => {
    const author = await postgres.addWriter();
    const waiting = list(author, { wait: 20, type: "link.deleted" });
    while (waits.count < 1) await Bun.sleep(5);
    await record(author, 1);
    await postgres.sql.begin((sql) =>
      recordEvents(sql, author, [{ ...note(2), type: "link.deleted" }]),
    );
    expect(valuesOf(await waiting)).toEqual([2]);
  });

  test("ends when the time is over, the client is gone, or the process stops", async () => {
    const author = await postgres.addWriter();
    expect((await list(author, { wait: 1 })).data).toEqual([]);
    const gone = new AbortController();
    const left = list(author, { wait: 20 }, gone.signal);
    while (waits.count < 1) await Bun.sleep(5);
    gone.abort();
    expect((await left).data).toEqual([]);

    const waiting = { limit: 1, wait: 20, order: "asc" } as const;
    const own = new EventWaits(postgres.sql, log);
    const service = new EventService(postgres.sql, own, new EventPositions(postgres.sql));
    const stopped = service.list({ ...author, scopes: [] }, waiting, { signal: never, confirm });
    while (own.count < 1) await Bun.sleep(5);
    own.stop();
    expect((await stopped).data).toEqual([]);
    // Nor does another one begin to wait.
    expect(
      (await service.list({ ...author, scopes: [] }, waiting, { signal: never, confirm })).data,
    ).toEqual([]);
  });
});

describe("newest first", () => {
  const newest = { order: "desc", limit: 2 } as const;

  test("a page has what came before the previous one, whatever is added meanwhile", async () => {
    const author = await postgres.addWriter();
    await record(author, 1, 2, 3, 4);
    const first = await list(author, newest);
    await record(author, 5);
    const second = await list(author, { ...newest, starting_after: first.next_cursor });
    const third = await list(author, { ...newest, starting_after: second.next_cursor });
    expect([first, second, third].map(valuesOf)).toEqual([[4, 3], [2, 1], []]);
    expect([first, second, third].map(({ has_more }) => has_more)).toEqual([true, false, false]);
    const named = { ...newest, starting_after: first.data[1]?.id ?? "" };
    expect(valuesOf(await list(author, named))).toEqual([2, 1]);
    expect((await list(await postgres.addWriter(), newest)).data).toEqual([]);
  });

  test("begins with what nobody has read, however much it is", async () => {
    const author = await postgres.addWriter();
    await record(author, ...Array.from({ length: 11_000 }, (_, i) => i));
    expect(valuesOf(await list(author, newest))).toEqual([10_999, 10_998]);
  });

  test("is bounded and filtered as the other order is", async () => {
    const author = await postgres.addWriter();
    const link = newUuid();
    const large = { ...note(1), data: { value: 1, text: "x".repeat(700_000) } };
    await postgres.sql.begin((sql) =>
      recordEvents(sql, author, [{ ...note(0), linkId: link }, large, large]),
    );
    const page = await list(author, newest);
    expect([page.data.length, page.has_more]).toEqual([1, true]);
    const linked = { ...newest, link_id: encodeId("link", link) };
    expect(valuesOf(await list(author, linked))).toEqual([0]);
    expect((await list(author, { ...newest, type: "key.created" })).has_more).toBe(false);

    await record(author, ...Array.from({ length: 5_000 }, (_, i) => i));
    const empty = await list(author, linked);
    expect([empty.data, empty.has_more]).toEqual([[], true]);
    expect(valuesOf(await list(author, { ...linked, starting_after: empty.next_cursor }))).toEqual([
      0,
    ]);
  });

  test("takes no cursor of the other order, does not wait, and has no latest", async () => {
    const author = await postgres.addWriter();
    await record(author, 1, 2, 3);
    const { next_cursor: oldest } = await list(author, { limit: 1 });
    const { next_cursor: before } = await list(author, newest);
    for (const [query, param] of [
      [{ ...newest, starting_after: oldest }, "starting_after"],
      [{ starting_after: before }, "starting_after"],
      [{ ...newest, starting_after: "latest" }, "starting_after"],
      [{ ...newest, wait: 1 }, "wait"],
    ] as const) {
      const refused = await list(author, query).catch((error: unknown) => error);
      expect(refused).toMatchObject({ reason: "invalid_request", param });
    }
    const latest = list(author, { ...newest, starting_after: "latest" });
    expect(String(await latest.catch((error: unknown) => error))).toContain("order=desc");
    const gone = { ...newest, starting_after: encodeId("event", newUuid()) };
    expect(await outcomeOf(list(author, gone))).toBe("cursor_expired");
  });
});
