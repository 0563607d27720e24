/**
 * Goal: the figures of links in PostgreSQL follow ClickHouse, never go down, and survive faults of
 * both.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { SYSTEM } from "../api/http/principal.ts";
import type { ClickHouseReader } from "../shared/clicks/query.ts";
import { newUuid, type Uuid } from "../shared/ids.ts";
import { eventually } from "../test/harness/eventually.ts";
import { forFile } from "../test/harness/for-file.ts";
import { startPostgres } from "../test/harness/postgres.ts";
import { asClient, workerContext } from "../test/harness/worker-context.ts";
import { Counters } from "./counters.ts";

/**
 * What the rollup and `clicks` hold for a link: clicks of people and of bots, visitors by either,
 * and the last click of a person in Unix milliseconds.
 */
type Totals = { clicks: number; bots: number; approximate: number; exact: number; last?: number };

/** So that no test waits long for a flush. */
const FLUSH_INTERVAL_MS = 50;

const postgres = await forFile(startPostgres());

let totals: Map<Uuid, Totals>;
/** Links with recent clicks in the rollup. */
let recent: Uuid[];
let clickhouseFails: boolean;
/** Links whose raw clicks were read, for their visitors. */
let counted: unknown[];
/** Links whose last clicks were read, and since when. */
let lookedUp: { links: string[]; since: unknown }[];
beforeEach(() => {
  counted = [];
  lookedUp = [];
  totals = new Map();
  recent = [];
  clickhouseFails = false;
});

/**
 * Returns rows for the four queries of the counters from `totals`. Numbers are text, as ClickHouse
 * sends 64-bit ones.
 */
const clickhouse: ClickHouseReader = {
  async query({ query, query_params }) {
    if (clickhouseFails) throw new Error("ClickHouse is down.");
    const wanted = new Set([query_params["link_ids"]].flat().map(String));
    const found = [...totals].filter(([id]) => wanted.has(id));
    if (query.includes("uniqExact")) counted.push(...wanted);
    if (query.includes("last_click")) {
      lookedUp.push({ links: [...wanted], since: query_params["since"] });
      const rows = found.map(([link_id, { last = 0 }]) => ({ link_id, last_click: String(last) }));
      return { json: async <Row>() => rows as Row[] };
    }
    const rows = query.includes("DISTINCT")
      ? recent.map((link_id) => ({ link_id }))
      : query.includes("uniqExact")
        ? found.map(([link_id, { exact }]) => ({ link_id, visitors: String(exact) }))
        : found.map(([link_id, { clicks, bots, approximate }]) => ({
            link_id,
            human_clicks: String(clicks),
            bot_clicks: String(bots),
            all_clicks: String(clicks + bots),
            visitors: String(approximate),
          }));
    // Each query selects these columns.
    return { json: async <Row>() => rows as Row[] };
  },
};

function start(): Counters {
  const context = workerContext({ sql: postgres.sql, clickhouse: asClient(clickhouse) });
  const counters = new Counters(context);
  counters.start(FLUSH_INTERVAL_MS);
  return counters;
}

const clicked = (...links: readonly Uuid[]) => links.map((linkId) => ({ linkId, lastClick: 0 }));

async function addLink(): Promise<Uuid> {
  const owner = {
    accountId: await postgres.addAccount(),
    mode: "live" as const,
    plan: "pro",
    actor: SYSTEM,
  };
  const { link } = await postgres.links.create(owner, newUuid(), { url: "https://example.com/" });
  return link.id;
}

const stored = async (linkId: Uuid): Promise<number[]> => {
  const [row] = await postgres.sql<{ clicks: number; unique: number; bots: number }[]>`
    select clicks::float8 as clicks, unique_clicks::float8 as unique, bot_clicks::float8 as bots
      from link_counters where link_id = ${linkId}`;
  return row === undefined ? [] : [row.clicks, row.unique, row.bots];
};

/** The last click of a link in Unix milliseconds; 0 for none. */
async function lastClickOf(linkId: Uuid): Promise<number | undefined> {
  const [row] = await postgres.sql<{ at: Date }[]>`
    select last_click_at as at from link_counters where link_id = ${linkId}`;
  return row?.at.getTime();
}

test("raw clicks are read only of links with more visitors than a state has exactly, and few clicks", async () => {
  const links = [await addLink(), await addLink(), await addLink()];
  const [exact = "", counting = "", many = ""] = links;
  totals.set(exact, { clicks: 9_000, bots: 0, approximate: 400, exact: 400 });
  // Clicks of bots are also read.
  totals.set(counting, { clicks: 9_997, bots: 3, approximate: 402, exact: 401 });
  totals.set(many, { clicks: 9_998, bots: 3, approximate: 402, exact: 401 });
  const counters = start();
  counters.touch(clicked(...links));
  await counters.stop();
  expect(counted).toEqual([counting]);
  expect(await Promise.all(links.map(stored))).toEqual([
    [9_000, 400, 0],
    [9_997, 401, 3],
    [9_998, 402, 3],
  ]);
});

test("counters never decrease, even when a lagging replica returns less", async () => {
  const link = await addLink();
  totals.set(link, { clicks: 20, bots: 2, approximate: 9, exact: 9 });
  const counters = start();
  counters.touch(clicked(link));
  await eventually(async () => expect(await stored(link)).toEqual([20, 9, 2]));
  totals.set(link, { clicks: 15, bots: 1, approximate: 10, exact: 10 });
  counters.touch(clicked(link));
  await counters.stop();
  expect(await stored(link)).toEqual([20, 10, 2]);
});

describe("the last click of a link", () => {
  const NOON = Date.UTC(2026, 4, 5, 12, 0, 0, 123);
  const noTotals = { clicks: 1, bots: 0, approximate: 1, exact: 1 };

  test("is the latest that was stored, in whatever order, and not read from ClickHouse", async () => {
    const [link, ofBots] = [await addLink(), await addLink()];
    const counters = start();
    const touch = async (...links: { linkId: Uuid; lastClick: number }[]) => {
      counters.touch(links);
      await eventually(async () => expect(counters.pending).toBe(0));
    };
    await touch({ linkId: link, lastClick: NOON }, { linkId: link, lastClick: NOON - 1 });
    await touch({ linkId: link, lastClick: NOON - 5_000 }, { linkId: ofBots, lastClick: 0 });
    await counters.stop();
    expect([await lastClickOf(link), await lastClickOf(ofBots)]).toEqual([NOON, 0]);
    expect(lookedUp).toEqual([]);
  });

  test("is now at the latest, so that a clock that was ahead does not hide the clicks after it", async () => {
    const link = await addLink();
    const counters = start();
    counters.touch([{ linkId: link, lastClick: Date.now() + 3_600_000 }]);
    await eventually(async () => expect(await lastClickOf(link)).toBeGreaterThan(0));
    const first = await lastClickOf(link);
    expect(first).toBeLessThanOrEqual(Date.now());
    await Bun.sleep(5);
    counters.touch([{ linkId: link, lastClick: Date.now() }]);
    await eventually(async () =>
      expect(await lastClickOf(link)).toBeGreaterThan(first ?? Infinity),
    );
    await counters.stop();
  });

  test("is kept while PostgreSQL or ClickHouse is down", async () => {
    const link = await addLink();
    const counters = start();
    await eventually(async () => expect(counters.state).toBe("ok"));
    clickhouseFails = true;
    counters.touch([{ linkId: link, lastClick: NOON }]);
    await eventually(async () => expect(counters.state).toContain("wait"));
    counters.touch([{ linkId: link, lastClick: NOON - 1 }]);
    clickhouseFails = false;
    await counters.stop();
    expect(await lastClickOf(link)).toBe(NOON);
  });

  test("is read from ClickHouse where another worker may have stored it, and never goes back", async () => {
    const [link, other] = [await addLink(), await addLink()];
    totals.set(link, { ...noTotals, last: NOON });
    totals.set(other, { ...noTotals, last: NOON });
    const counters = start();
    await eventually(async () => expect(counters.state).toBe("ok"));
    recent = [link];
    counters.recount();
    counters.touch([{ linkId: other, lastClick: NOON - 2 }]);
    await eventually(async () => expect(await lastClickOf(link)).toBe(NOON));
    totals.set(link, { ...noTotals, last: NOON - 10 });
    counters.recount();
    await eventually(async () => expect(lookedUp.length).toBeGreaterThan(1));
    await counters.stop();
    expect([await lastClickOf(link), await lastClickOf(other)]).toEqual([NOON, NOON - 2]);
    expect(new Set(lookedUp.flatMap(({ links }) => links))).toEqual(new Set([link]));
  });

  test("is read again since the day of a rollup that lacked clicks", async () => {
    const link = await addLink();
    totals.set(link, { ...noTotals, last: NOON });
    const counters = start();
    const bucket = Date.UTC(2026, 4, 5) / 1_000;
    counters.correct([{ ...takeAway(link, -1), surplus: 0, missing: 1, bucket }]);
    await counters.stop();
    expect(await lastClickOf(link)).toBe(NOON);
    expect(lookedUp).toEqual([{ links: [link], since: bucket }]);
  });
});

/** A bucket from which a repair takes clicks away. */
const takeAway = (subject: Uuid, clicks: number, table = "clicks_1d") => ({
  table,
  subject,
  account: newUuid(),
  bucket: 0,
  missing: 0,
  surplus: clicks,
  humans: -clicks,
  bots: 0,
});

describe("a repair of rollups", () => {
  test("lowers the counters of a link to its totals", async () => {
    const link = await addLink();
    totals.set(link, { clicks: 20, bots: 5, approximate: 18, exact: 18 });
    const counters = start();
    counters.touch(clicked(link));
    await eventually(async () => expect(await stored(link)).toEqual([20, 18, 5]));
    totals.set(link, { clicks: 12, bots: 2, approximate: 12, exact: 12 });
    counters.correct([
      takeAway(link, 8),
      { ...takeAway(link, 0), bucket: 86_400, surplus: 3, bots: -3 },
      // Only one rollup is what counters are read from.
      takeAway(link, 8, "clicks_1h"),
    ]);
    await eventually(async () => expect(await stored(link)).toEqual([12, 12, 2]));
    await counters.stop();
  });

  test("lowers them once, by what it took away and no more, also when ClickHouse is down for a while", async () => {
    const link = await addLink();
    totals.set(link, { clicks: 100, bots: 0, approximate: 40, exact: 40 });
    const counters = start();
    counters.touch(clicked(link));
    await eventually(async () => expect(await stored(link)).toEqual([100, 40, 0]));
    clickhouseFails = true;
    totals.set(link, { clicks: 30, bots: 0, approximate: 10, exact: 10 });
    counters.correct([takeAway(link, 5)]);
    await eventually(async () => expect(counters.state).toContain("wait"));
    clickhouseFails = false;
    await eventually(async () => expect(await stored(link)).toEqual([95, 40, 0]));
    counters.touch(clicked(link));
    await counters.stop();
    expect(await stored(link)).toEqual([95, 40, 0]);
  });
});

test("links that a killed worker had not written are written at the start", async () => {
  const link = await addLink();
  totals.set(link, { clicks: 5, bots: 0, approximate: 5, exact: 5 });
  recent = [link];
  const counters = start();
  await eventually(async () => expect(await stored(link)).toEqual([5, 5, 0]));
  await counters.stop();
});

test("a link that was deleted meanwhile does not block others", async () => {
  const [gone, link] = [newUuid(), await addLink()];
  for (const id of [gone, link]) totals.set(id, { clicks: 1, bots: 0, approximate: 1, exact: 1 });
  const counters = start();
  counters.touch(clicked(gone, link));
  await counters.stop();
  expect(await stored(link)).toEqual([1, 1, 0]);
  expect(await stored(gone)).toEqual([]);
  expect(counters.pending).toBe(0);
});
