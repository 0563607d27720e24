/** The feed newest first, on a real PostgreSQL: its pages, its cursors, and what it costs. */
import { describe, expect, test } from "bun:test";

import postgresClient from "postgres";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { type Author, SYSTEM } from "../http/principal.ts";
import type { EventsQuery } from "./model.ts";
import { recordEvents } from "./record.ts";
import { EventPositions, EventService, EventWaits } from "./service.ts";
import { readEvents, type ReadRange } from "./sql.ts";

/** Events among which a page is found. */
const MANY_EVENTS = 1_000_000;

/** However long a busy machine takes to give positions. */
const PATIENT_MS = 120_000;

const postgres = await forFile(startPostgres());
const { sql } = postgres;
const waits = new EventWaits(sql, processLog("test", "silent"));
const events = new EventService(sql, waits, new EventPositions(sql, PATIENT_MS));

const newAuthor = async (): Promise<Author> => ({
  accountId: await postgres.addAccount(),
  mode: "live",
  actor: SYSTEM,
});

const list = (owner: Author, query: Partial<EventsQuery> = {}) =>
  events.list(
    { ...owner, scopes: [] },
    { limit: 100, wait: 0, order: "asc", ...query },
    { signal: new AbortController().signal, confirm: () => Promise.resolve() },
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

describe("newest first", () => {
  const newest = { order: "desc", limit: 2 } as const;

  test("a page has what came before the previous one, whatever is added meanwhile", async () => {
    const author = await newAuthor();
    await record(author, 1, 2, 3, 4);
    const first = await list(author, newest);
    await record(author, 5);
    const second = await list(author, { ...newest, starting_after: first.next_cursor });
    const third = await list(author, { ...newest, starting_after: second.next_cursor });
    expect([first, second, third].map(valuesOf)).toEqual([[4, 3], [2, 1], []]);
    expect([first, second, third].map(({ has_more }) => has_more)).toEqual([true, false, false]);
    const named = { ...newest, starting_after: first.data[1]?.id ?? "" };
    expect(valuesOf(await list(author, named))).toEqual([2, 1]);
    expect((await list(await newAuthor(), newest)).data).toEqual([]);
  });

  test("begins with what nobody has read, however much it is", async () => {
    const author = await newAuthor();
    await record(author, ...Array.from({ length: 11_000 }, (_, i) => i));
    expect(valuesOf(await list(author, newest))).toEqual([10_999, 10_998]);
  });

  test("is bounded and filtered as the other order is", async () => {
    const author = await newAuthor();
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
    const author = await newAuthor();
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
    const refused = await list(author, gone).catch((error: unknown) => error);
    expect(refused).toMatchObject({ reason: "cursor_expired" });
  });
});

longTest("among many events, a page of either order examines 5,000, by the index", async () => {
  const author = await newAuthor();
  for (let first = 1; first <= MANY_EVENTS; first += 20_000)
    await postgres.sql`
      insert into events (id, account_id, mode, type, data, actor, position)
      select gen_random_uuid(), ${author.accountId}, 'live', 'link.created', '{"value": 1}', '{"type": "system"}', i
        from generate_series(${first}::bigint, ${first + 19_999}::bigint) i`;
  await postgres.sql`analyze events`;
  for (const order of ["asc", "desc"] as const) {
    const range = { from: MANY_EVENTS / 2, order, limit: 20, examinedMax: 5_000, bytesMax: 1e6 };
    const plan = await explain(author, range);
    expect(plan.filter((line) => line.includes(" on events"))).toEqual([
      expect.stringMatching(
        /Index Scan( Backward)? using events_by_position on events .*rows=5000/,
      ),
      expect.stringMatching(/Index Scan using events_pkey on events event .*loops=20/),
    ]);
  }
});

/** How PostgreSQL reads a page: the lines of the plan of the statement, as it was run. */
async function explain(author: Author, range: ReadRange): Promise<string[]> {
  const statements: { text: string; parameters: never[] }[] = [];
  const sql = postgresClient(postgres.url, {
    max: 1,
    debug: (_connection, text, parameters) =>
      // Values that were sent, which can be sent again.
      statements.push({ text, parameters: parameters as never[] }),
  });
  try {
    await readEvents(sql, author, range, {
      types: undefined,
      linkId: undefined,
      actorId: undefined,
    });
    const statement = statements.find(({ text }) => text.includes("with examined"));
    const lines = await sql.unsafe<{ "QUERY PLAN": string }[]>(
      `explain (analyze, timing off) ${statement?.text}`,
      statement?.parameters,
    );
    return lines.map((line) => line["QUERY PLAN"]);
  } finally {
    await sql.end();
  }
}
