/** Goal: an operator can find every click, and check and repair the stored counts. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { createClient } from "../../clients/typescript/src/index.ts";
import { admin, runAdmin, runQuery } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { startStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

/**
 * Old enough for their whole UTC day to be checked, and how far back the check must look for that.
 */
const HOURS_AGO = 50;
const CHECKED = ["--hours", "100"];

const stack = await forFile(startStack());

const { api_url, api_key } = stack.info();
const { links } = createClient({ baseUrl: api_url, apiKey: api_key });

const createLink = () => links.create({ url: "https://example.com/reconciliation" });

async function follow(url: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) expect((await call(url)).status).toBe(302);
}

type Location = "stored" | "in_stream" | "dead_lettered" | "missing_segments";

type Reconciliation = Record<Location | "duplicates" | "in_journals" | "recorded", number> & {
  journals: (Record<Location, number> & { recorded: number | null })[];
};

const reconcile = () => admin<Reconciliation>(stack, ["reconcile"]);

describe("click reconciliation", () => {
  test("locates every click", async () => {
    const link = await createLink();
    await follow(link.short_url, 20);
    const quiet = await eventually(async () => {
      const found = await reconcile();
      expect(found).toMatchObject({
        in_stream: 0,
        in_journals: 0,
        duplicates: 0,
        dead_lettered: 0,
      });
      const current = found.journals.find(({ recorded }) => recorded !== null);
      expect(current).toMatchObject({ stored: found.recorded, missing_segments: 0 });
      return found;
    }, TIMEOUT_MS);
    const worker = Number(stack.info().pids.worker);
    process.kill(worker, "SIGSTOP");
    try {
      await follow(link.short_url, 10);
      await eventually(async () => {
        expect(await reconcile()).toMatchObject({
          stored: quiet.stored,
          in_stream: 10,
          in_journals: 0,
          recorded: quiet.recorded + 10,
        });
      }, TIMEOUT_MS);
    } finally {
      process.kill(worker, "SIGCONT");
    }
    await eventually(async () => {
      expect(await reconcile()).toMatchObject({ stored: quiet.stored + 10, in_stream: 0 });
    }, TIMEOUT_MS);
  });

  test("reports a missing segment", async () => {
    const { recorded } = await reconcile();
    await follow((await createLink()).short_url, 3);
    const before = await eventually(async () => {
      const found = await reconcile();
      // None is on its way to where the test counts.
      expect(found).toMatchObject({ recorded: recorded + 3, in_stream: 0, in_journals: 0 });
      return found;
    }, TIMEOUT_MS);
    await runQuery(
      stack,
      `INSERT INTO clicks (ts, link_id, account_id, mode, class, journal_id, segment, idx)
       SELECT now(), generateUUIDv4(), generateUUIDv4(), 'test', 'human',
              '01900000-0000-7000-8000-000000000001', arrayJoin([0, 1, 3]), 0`,
    );
    expect(await reconcile()).toMatchObject({
      missing_segments: before.missing_segments + 1,
      stored: before.stored + 3,
    });
  });
});

describe("the journal", () => {
  test("can be listed while clicks wait in it", async () => {
    const link = await createLink();
    const JOURNAL_DIR = mkdtempSync(join(stack.dataDir, "reconciliation-"));
    const first = await startRedirector(stack, { JOURNAL_DIR });
    await follow(`${first.url}/${link.alias}`, 1);
    await first.stop();
    const disconnected = await startRedirector(stack, {
      JOURNAL_DIR,
      NATS_URL: "nats://127.0.0.1:1",
    });
    await follow(`${disconnected.url}/${link.alias}`, 5);
    const segments = await eventually(async () => {
      const found = await admin<{ state: string; clicks: number; complete: boolean }[]>(stack, [
        "journal",
        JOURNAL_DIR,
      ]);
      expect(found.every(({ state }) => state === "sealed")).toBe(true);
      return found;
    });
    expect(segments.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(5);
    expect(segments.every(({ complete }) => complete)).toBe(true);
    await disconnected.stop();
  });
});

/** The buckets of the test's clicks. */
const OLD = "bucket < toStartOfDay(now()) - INTERVAL 1 DAY";

/** Reads the rollups of the checked period. */
const readRollups = async (): Promise<unknown> =>
  JSON.parse(
    await runQuery(
      stack,
      `
      SELECT (SELECT sum(clicks) FROM clicks_15m WHERE ${OLD}) AS totals,
             (SELECT uniqCombined64Merge(14)(visitors) FROM clicks_15m WHERE ${OLD}) AS visitors,
             (SELECT groupArray((subject_id, country, n)) FROM (
                SELECT subject_id, country, sum(clicks) AS n FROM clicks_1d_places WHERE ${OLD}
                 GROUP BY subject_id, country ORDER BY subject_id, country)) AS by
      FORMAT JSONEachRow`,
    ),
  );

describe("the consistency check", () => {
  test("finds errors in a rollup, and rebuilds it from the clicks", async () => {
    await runQuery(
      stack,
      `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, segment, idx)
       SELECT now64(3, 'UTC') - ${HOURS_AGO * 3_600} - number * 40,
              toUUID(concat('01900000-0000-7000-8000-00000000000', toString(number % 3))), generateUUIDv4(0), 'live',
              if(number % 7 = 0, 'bot', 'human'), number % 50, ['DE', 'FR', 'US'][number % 3 + 1],
              if(number % 2 = 0, 'mobile', 'desktop'), '01900000-0000-7000-8000-000000000002', 0, number
         FROM numbers(500)`,
    );
    expect(await admin(stack, ["check-rollups", ...CHECKED])).toMatchObject({ differences: 0 });
    const right = await readRollups();

    await runQuery(
      stack,
      `INSERT INTO clicks_15m SELECT * FROM clicks_15m WHERE ${OLD} AND class = 'human' LIMIT 3`,
    );
    await runQuery(stack, `DELETE FROM clicks_1d_places WHERE ${OLD}`);
    expect(await readRollups()).not.toEqual(right);
    const wrong = await readRollups();
    for (const option of [[], ["--repair"]]) {
      // Nobody is asked here, so a repair changes nothing either.
      const checked = await runAdmin(stack, ["check-rollups", ...CHECKED, ...option, "--json"]);
      expect(checked.code).toBe(1);
      expect(JSON.parse(checked.stdout).differences).toBeGreaterThan(3);
      expect(JSON.parse(checked.stdout)).toMatchObject({ left_out_before: null, repaired: 0 });
      expect(checked.stderr.includes("Nothing was changed")).toBe(option.length > 0);
      expect(await readRollups()).toEqual(wrong);
    }

    // Polls one bucket of a link during the repair: it must show either the old or the repaired
    // value.
    const bucket = `
      SELECT sum(clicks) FROM clicks_1d_places
       WHERE subject_id = '01900000-0000-7000-8000-000000000000'
         AND bucket = (SELECT toStartOfDay(min(bucket)) FROM clicks_15m)`;
    const seen = new Set<string>();
    let repairing = true;
    const polling = (async () => {
      while (repairing) seen.add(await runQuery(stack, bucket));
    })();
    const repaired = await admin<{ differences: number; repaired: number }>(stack, [
      "check-rollups",
      ...CHECKED,
      "--repair",
      "--yes",
    ]);
    repairing = false;
    await polling;
    seen.add(await runQuery(stack, bucket));
    expect(seen.size).toBe(2);
    expect(repaired.repaired).toBe(repaired.differences);
    expect(await readRollups()).toEqual(right);
    expect(await admin(stack, ["check-rollups", ...CHECKED])).toMatchObject({ differences: 0 });
  });
});
