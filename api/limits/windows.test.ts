/**
 * Goal: no window ever accepts more than its limit, and the reported remainder is exact. Method:
 * compares the SQL function with a model over random requests and random intervals, by moving the
 * open windows into the past.
 */
import { expect, test } from "bun:test";

import fc from "fast-check";

import type { Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { SEED } from "../../test/harness/seed.ts";
import { parseKey } from "../auth/api-key.ts";
import { authorizeAll } from "../auth/sql.ts";

const RULE = { scope: "links:write", limit: "POST /v1/links", cost: 1 } as const;

/** The lengths of the windows. */
const SECONDS = { minute: 60, day: 86_400, [RULE.limit]: 3_600 };

const postgres = await forFile(startPostgres());

test("every window counts exactly, ends its length after it opened, and consumes all windows or none", async () => {
  const anyStep = fc.record({
    passSeconds: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: 0, max: 100_000 }),
    ),
    wanted: fc.integer({ min: 1, max: 12 }),
  });
  const anyCase = fc.record({
    minute: fc.integer({ min: 1, max: 20 }),
    day: fc.integer({ min: 1, max: 60 }),
    endpoint: fc.integer({ min: 1, max: 40 }),
    steps: fc.array(anyStep, { minLength: 1, maxLength: 25 }),
  });
  const { sql } = postgres;
  const account = await postgres.addAccount();
  await sql`update accounts set plan = 'enterprise' where id = ${account}`;
  const key = parseKey((await postgres.keys.createFirst(account)).key);
  if (key === undefined) throw new Error("The created key is malformed.");

  await fc.assert(
    fc.asyncProperty(anyCase, async ({ minute, day, endpoint, steps }) => {
      const limits = { minute, day, burst: 1_000_000, endpoints: { [RULE.limit]: endpoint } };
      await sql`update accounts set limits = ${sql.json(limits)}, suspended_until = null where id = ${account}`;
      await sql`delete from plan_windows where account_id = ${account}`;
      await sql`delete from endpoint_windows where account_id = ${account}`;
      const limitOf = { minute, day, [RULE.limit]: endpoint };
      const names = ["minute", "day", RULE.limit] as const;
      const model = new Map(names.map((name) => [name, { used: 0, openedAt: -Infinity }]));
      let passed = 0;

      for (const { passSeconds, wanted } of steps) {
        await passTime(account, passSeconds);
        passed += passSeconds * 1_000;
        const [result] = await authorizeAll(sql, [
          { key, rule: RULE, cost: wanted, refused: 0, network: null },
        ]);
        // The database's clock as seen by windows that were moved into the past.
        const now = (result?.now ?? 0) + passed;
        for (const name of names) {
          const { openedAt } = model.get(name) ?? { openedAt: 0 };
          if (now >= openedAt + SECONDS[name] * 1_000)
            model.set(name, { used: 0, openedAt: -Infinity });
        }
        const remaining = Math.min(
          ...names.map((name) => limitOf[name] - (model.get(name)?.used ?? 0)),
        );
        const granted = Math.max(0, Math.min(wanted, remaining));
        expect(result?.granted).toBe(granted);
        expect(result?.verdict).toBe(granted === 0 ? "limited" : "ok");
        for (const name of names) {
          const state = model.get(name) ?? { used: 0, openedAt: -Infinity };
          // The plan's windows open with any request, even a rejected one; an endpoint's window
          // with an accepted one.
          const opens = granted > 0 || name !== RULE.limit;
          if (opens && state.openedAt === -Infinity) state.openedAt = now;
          state.used += granted;
          model.set(name, state);
          const window = result?.windows.find((candidate) => candidate.name === name);
          expect(window).toMatchObject({
            limit: limitOf[name],
            seconds: SECONDS[name],
            spent: state.used,
          });
          if (state.openedAt === -Infinity) continue;
          const resetsAt = state.openedAt + SECONDS[name] * 1_000;
          expect((window?.resetsAt ?? 0) + passed).toBeCloseTo(resetsAt, -1);
        }
        // Consecutive rejections would suspend the account, which another test covers.
        await sql`update accounts set suspended_until = null where id = ${account}`;
        await sql`update plan_windows set refused = 0 where account_id = ${account}`;
      }
    }),
    {
      numRuns: casesOf(1_000, 20),
      seed: SEED,
      examples: [
        // Rejected by the endpoint's window after the minute has ended, and accepted within the
        // next one.
        [
          {
            minute: 20,
            day: 60,
            endpoint: 1,
            steps: [
              { passSeconds: 0, wanted: 1 },
              { passSeconds: 3_570, wanted: 1 },
              { passSeconds: 40, wanted: 1 },
            ],
          },
        ],
      ],
    },
  );
});

async function passTime(account: Uuid, seconds: number): Promise<void> {
  const { sql } = postgres;
  await sql`
    update plan_windows
       set burst_opened_at = burst_opened_at - make_interval(secs => ${seconds}),
           minute_opened_at = minute_opened_at - make_interval(secs => ${seconds}),
           day_opened_at = day_opened_at - make_interval(secs => ${seconds})
     where account_id = ${account}`;
  await sql`
    update endpoint_windows set opened_at = opened_at - make_interval(secs => ${seconds})
     where account_id = ${account}`;
}
