/** Goal: an operator can tell where every click is, and that figures are right, and mend them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { admin, runAdmin } from "../harness/admin.ts";
import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startRedirector } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const ARRIVED_MS = 20_000;

/** Far enough back for an audit to look at it. */
const HOURS_AGO = 5;

let stack: Stack;
beforeAll(async () => void (stack = await startStack()));
afterAll(async () => await stack[Symbol.asyncDispose]());

async function createLink() {
  const { body } = await call(`${stack.info().api_url}/v1/links`, {
    key: stack.info().api_key,
    body: { url: "https://example.com/ledger" },
  });
  return linkAnswer.parse(body);
}

async function follow(url: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) expect((await call(url)).status).toBe(302);
}

async function ask(query: string): Promise<string> {
  const answer = await fetch(stack.info().clickhouse_url, { method: "POST", body: query });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.text()).trim();
}

type Place = "stored" | "in_stream" | "set_aside" | "missing_pages";

type Ledger = Record<Place | "repeated" | "in_journals" | "recorded", number> & {
  journals: (Record<Place, number> & { recorded: number | null })[];
};

const ledger = () => admin<Ledger>(stack, ["ledger"]);

describe("the ledger", () => {
  test("says of every click where it is", async () => {
    const link = await createLink();
    await follow(link.short_url, 20);
    const quiet = await eventually(async () => {
      const found = await ledger();
      expect(found).toMatchObject({ in_stream: 0, in_journals: 0, repeated: 0, set_aside: 0 });
      const own = found.journals.find(({ recorded }) => recorded !== null);
      expect(own).toMatchObject({ stored: found.recorded, missing_pages: 0 });
      return found;
    }, ARRIVED_MS);
    const worker = Number(stack.info().pids.worker);
    process.kill(worker, "SIGSTOP");
    try {
      await follow(link.short_url, 10);
      await eventually(async () => {
        expect(await ledger()).toMatchObject({
          stored: quiet.stored,
          in_stream: 10,
          in_journals: 0,
          recorded: quiet.recorded + 10,
        });
      }, ARRIVED_MS);
    } finally {
      process.kill(worker, "SIGCONT");
    }
    await eventually(async () => {
      expect(await ledger()).toMatchObject({ stored: quiet.stored + 10, in_stream: 0 });
    }, ARRIVED_MS);
  });

  test("misses a page that is nowhere", async () => {
    await follow((await createLink()).short_url, 3);
    await eventually(async () => expect((await ledger()).in_journals).toBe(0), ARRIVED_MS);
    const before = await ledger();
    await ask(
      `INSERT INTO clicks (ts, link_id, account_id, mode, class, journal_id, page, idx)
       SELECT now(), generateUUIDv4(), generateUUIDv4(), 'test', 'human',
              '01900000-0000-7000-8000-000000000001', arrayJoin([0, 1, 3]), 0`,
    );
    expect(await ledger()).toMatchObject({
      missing_pages: before.missing_pages + 1,
      stored: before.stored + 3,
    });
  });
});

describe("the journal", () => {
  test("can be looked into while clicks wait in it", async () => {
    const link = await createLink();
    const JOURNAL_DIR = mkdtempSync(join(stack.dataDir, "ledger-"));
    const first = await startRedirector(stack, { JOURNAL_DIR });
    await follow(`${first.url}/${link.alias}`, 1);
    await first.stop();
    const cut = await startRedirector(stack, { JOURNAL_DIR, NATS_URL: "nats://127.0.0.1:1" });
    await follow(`${cut.url}/${link.alias}`, 5);
    const pages = await eventually(async () => {
      const found = await admin<{ state: string; clicks: number; whole: boolean }[]>(stack, [
        "journal",
        JOURNAL_DIR,
      ]);
      expect(found.every(({ state }) => state === "sealed")).toBe(true);
      return found;
    }, 5_000);
    expect(pages.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(5);
    expect(pages.every(({ whole }) => whole)).toBe(true);
    await cut.stop();
  });
});

/** What rollups say of the time that is audited. */
const figures = async (): Promise<unknown> =>
  JSON.parse(
    await ask(`
      SELECT (SELECT sum(clicks) FROM clicks_15m WHERE bucket < now() - 3600) AS totals,
             (SELECT uniqCombined64Merge(14)(visitors) FROM clicks_15m WHERE bucket < now() - 3600) AS visitors,
             (SELECT groupArray((toString(dimension), value, n)) FROM (
                SELECT dimension, value, sum(clicks) AS n FROM clicks_15m_by WHERE bucket < now() - 3600
                 GROUP BY dimension, value ORDER BY dimension, value)) AS by
      FORMAT JSONEachRow`),
  );

describe("the audit", () => {
  test("finds what is wrong in a rollup, and makes it anew from the clicks", async () => {
    await ask(
      `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, page, idx)
       SELECT now64(3, 'UTC') - ${HOURS_AGO * 3_600} - number * 40,
              toUUID(concat('01900000-0000-7000-8000-00000000000', toString(number % 3))), generateUUIDv4(0), 'live',
              if(number % 7 = 0, 'bot', 'human'), number % 50, ['DE', 'FR', 'US'][number % 3 + 1],
              if(number % 2 = 0, 'mobile', 'desktop'), '01900000-0000-7000-8000-000000000002', 0, number
         FROM numbers(500)`,
    );
    expect(await admin(stack, ["audit"])).toMatchObject({ differences: 0 });
    const right = await figures();

    await ask(
      `INSERT INTO clicks_15m SELECT * FROM clicks_15m WHERE bucket < now() - 3600 AND class = 'human' LIMIT 3`,
    );
    await ask(`DELETE FROM clicks_15m_by WHERE bucket < now() - 3600 AND dimension = 'country'`);
    expect(await figures()).not.toEqual(right);
    const { code, out } = await runAdmin(stack, ["audit", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(out).differences).toBeGreaterThan(3);

    // One bucket, looked at all the while: as it was, or as it should be.
    const bucket =
      "SELECT sum(clicks) FROM clicks_15m_by WHERE dimension = 'country' AND bucket = (SELECT min(bucket) FROM clicks_15m)";
    const seen = new Set<string>();
    let repairing = true;
    const looking = (async () => {
      while (repairing) seen.add(await ask(bucket));
    })();
    const repaired = await admin<{ differences: number; repaired: number }>(stack, [
      "audit",
      "--repair",
    ]);
    repairing = false;
    await looking;
    seen.add(await ask(bucket));
    expect(seen.size).toBe(2);
    expect(repaired.repaired).toBe(repaired.differences);
    expect(await figures()).toEqual(right);
    expect(await admin(stack, ["audit"])).toMatchObject({ differences: 0 });
  });
});
