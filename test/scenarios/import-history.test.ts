/**
 * Goal: the links and visits of a YOURLS are here as they were there, once, however often the import
 * is killed; and undone, nothing of it is left and everything else is as before.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { admin, runAdmin, runQuery, withPostgres } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { commandOf } from "../harness/executable.ts";
import { hasMariaDb, TestMariaDb } from "../harness/mariadb.ts";
import { createRandom } from "../harness/random.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { fillYourls, keywordOf, type LoggedVisit, urlOf } from "../harness/yourls.ts";

const HISTORY = { links: 2_000, visits: 50_000, days: 400 };
const ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"];

const SEED = Number(process.env["SHORTHOP_TEST_SEED"] ?? Date.now() % 1_000_000);
const KILLS = 6;
/** The earliest kill, and how much later each may be than the one before: a busy machine is slow. */
const KILL_MS = { min: 300, later: 800 };

/** Of a link that is here before. */
const OWN_CLICKS = 3;

const STORED_MS = 30_000;

type Imported = { id: string; state: string; created: number; same: number; visits: number };

describe.skipIf(!hasMariaDb())("the history of a YOURLS", () => {
  let stack: Stack;
  let source: TestMariaDb;
  let account: string;
  const logged: LoggedVisit[] = [];
  /** What there is before the import. */
  let before: unknown;

  const importing = (...options: string[]) => [
    "import",
    "yourls",
    source.url,
    "--account",
    account,
    ...options,
  ];

  async function query<Row>(text: string): Promise<Row[]> {
    const rows = await runQuery(stack, `${text} FORMAT JSONEachRow`);
    return rows
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Row);
  }

  const listLinks = async (): Promise<unknown> =>
    (await call(`${stack.info().api_url}/v1/links?limit=100`, { key: stack.info().api_key })).body;

  /** Clicks and visitors of every table. */
  const snapshot = async (): Promise<unknown> => [
    ...(await Promise.all(
      ROLLUP_TABLES.map(async ({ table, measures }) => [
        table,
        await query(
          `SELECT sum(clicks) AS clicks, ${measures.includes("visitors") ? "uniqCombined64Merge(14)(visitors)" : "0"} AS visitors FROM ${table}`,
        ),
      ]),
    )),
    await query("SELECT count() AS clicks FROM clicks"),
    await listLinks(),
  ];

  beforeAll(async () => {
    console.log(`seed ${SEED}`);
    [stack, source] = await Promise.all([startStack(), TestMariaDb.start()]);
    await fillYourls(source.sql, { ...HISTORY, seed: SEED }, (visit) => logged.push(visit));
    const { api_url, api_key: key } = stack.info();
    const keys = await admin<{ id: string }[]>(stack, ["accounts", "list"]);
    account = keys[0]?.id ?? "";
    // A link of the source that is here already, with visits of its own.
    const { body } = await call(`${api_url}/v1/links`, {
      key,
      body: { url: urlOf(7), alias: keywordOf(7) },
    });
    const { short_url, id } = linkSchema.parse(body);
    for (let i = 0; i < OWN_CLICKS; i++) expect((await call(short_url)).status).toBe(302);
    await eventually(async () => {
      const found = await call(`${api_url}/v1/links/${id}`, { key });
      expect(found.body).toMatchObject({ clicks: OWN_CLICKS });
    }, STORED_MS);
    before = await snapshot();
  }, 300_000);

  afterAll(async () => {
    await stack[Symbol.asyncDispose]();
    await source[Symbol.asyncDispose]();
  });

  test("arrives once, stays as it is when it is imported again, and is gone when it is undone", async () => {
    const checked = await admin<Record<string, unknown>>(stack, importing("--dry-run"));
    expect(checked).toEqual({ dry_run: true, created: 1_999, same: 1, taken: 0, refused: 0 });
    expect(await snapshot()).toEqual(before);

    await runAndKill();
    const [row] = await admin<Imported[]>(stack, ["import", "list"]);
    const id = row?.id ?? "";
    const done = await admin<Imported>(stack, ["import", "resume", id, source.url]);
    expect(done).toMatchObject({ state: "done", created: 1_999, same: 1, visits: HISTORY.visits });
    await expectComplete();
    const compared = await admin<Record<string, unknown>>(stack, [
      "check-rollups",
      "--hours",
      "72",
    ]);
    expect(compared).toMatchObject({ differences: 0 });

    const imported = await snapshot();
    const again = await admin<Imported>(stack, importing());
    expect(again).toMatchObject({ id, state: "done", created: 1_999, visits: HISTORY.visits });
    expect(await snapshot()).toEqual(imported);

    const undone = await admin<Record<string, unknown>>(stack, ["import", "undo", id]);
    expect(undone).toMatchObject({ state: "undone", links_deleted: 1_999, links_kept: 1 });
    expect(await snapshot()).toEqual(before);
    expect((await runAdmin(stack, ["import", "undo", id])).code).toBe(1);
  }, 600_000);

  /** Runs the import, and kills it at random. */
  async function runAndKill(): Promise<void> {
    const random = createRandom(SEED);
    for (let kill = 0; kill < KILLS; kill++) {
      const run = Bun.spawn(await commandOf(importing("--json")), {
        env: { ...process.env, SHORTHOP_DATA_DIR: stack.dataDir },
        stdio: ["ignore", "ignore", "ignore"],
      });
      const afterMs = random.between(KILL_MS.min, KILL_MS.later * (kill + 1));
      const timer = setTimeout(() => run.kill("SIGKILL"), afterMs);
      await run.exited;
      clearTimeout(timer);
      const [row] = await admin<Imported[]>(stack, ["import", "list"]);
      console.log(`killed after ${afterMs} ms: ${JSON.stringify(row)}`);
    }
  }

  /** Compares clicks and a rollup with the log, by link and local day in each zone; and counters. */
  async function expectComplete(): Promise<void> {
    const [counted] = await withPostgres(
      stack,
      (sql) => sql<{ clicks: number }[]>`
        select sum(clicks + bot_clicks)::integer as clicks from link_counters`,
    );
    expect(counted?.clicks).toBe(HISTORY.visits + OWN_CLICKS);
    const aliases = await aliasesById();
    for (const zone of ZONES) {
      const day = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
      const expected = countBy(logged.map(({ keyword, at }) => `${keyword} ${day.format(at)}`));
      for (const [table, time, clicks] of [
        ["clicks", "ts", "count()"],
        ["clicks_15m", "bucket", "sum(clicks)"],
      ]) {
        const rows = await query<{ link_id: string; day: string; clicks: string }>(
          `SELECT link_id, toString(toDate(${time}, '${zone}')) AS day, ${clicks} AS clicks
             FROM ${table} WHERE import > 0 GROUP BY link_id, day`,
        );
        const found = rows.map((row): [string, number] => [
          `${aliases.get(row.link_id)} ${row.day}`,
          Number(row.clicks),
        ]);
        expect(new Map(found)).toEqual(expected);
      }
    }
  }

  async function aliasesById(): Promise<Map<string, string>> {
    const rows = await withPostgres(
      stack,
      (sql) => sql<{ id: string; alias: string }[]>`select id, alias from links`,
    );
    return new Map(rows.map(({ id, alias }) => [id, alias]));
  }
});

function countBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
