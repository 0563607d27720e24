/**
 * Goal: whenever requests come, no window takes more than it allows, and what is told is what is left.
 * Method: the SQL function against a model, over random requests and random passages of time. Time
 * passes by moving the open windows into the past.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";

import fc from "fast-check";
import postgres from "postgres";

import { parseKey } from "../../api/auth/api-key.ts";
import { authorizeAll } from "../../api/auth/authorize.ts";
import { createAccount } from "../harness/admin.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const RULE = { scope: "links:write", limit: "POST /v1/links", cost: 1 } as const;

/** The lengths of the windows. */
const SECONDS = { minute: 60, day: 86_400, [RULE.limit]: 3_600 };

let stack: Stack;
let sql: postgres.Sql;

beforeAll(async () => {
  stack = await startStack();
  sql = postgres(stack.info().database_url, { max: 1 });
});
afterAll(async () => {
  await sql.end();
  await stack[Symbol.asyncDispose]();
});

test("every window counts exactly, closes its length after it opened, and grants all or nothing", async () => {
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
  const { key: text } = await createAccount(stack, "enterprise");
  const key = parseKey(text);
  if (key === undefined) throw new Error("The made key is no key.");
  const [row] = await sql<[{ account_id: string }]>`
    select account_id from api_keys where lookup = ${key.lookup}`;
  const account = row.account_id;

  await fc.assert(
    fc.asyncProperty(anyCase, async ({ minute, day, endpoint, steps }) => {
      const limits = { minute, day, burst: 1_000_000, endpoints: { [RULE.limit]: endpoint } };
      await sql`update accounts set limits = ${sql.json(limits)}, suspended_until = null where id = ${account}`;
      await sql`delete from plan_windows where account_id = ${account}`;
      await sql`delete from endpoint_windows where account_id = ${account}`;
      const allowed = { minute, day, [RULE.limit]: endpoint };
      const names = ["minute", "day", RULE.limit] as const;
      const model = new Map(names.map((name) => [name, { spent: 0, openedAt: -Infinity }]));
      let passed = 0;

      for (const { passSeconds, wanted } of steps) {
        await passTime(account, passSeconds);
        passed += passSeconds * 1_000;
        const ruling = await authorizeAll(sql, key, RULE, wanted, 0);
        // The database's own clock, as windows that were moved into the past see it.
        const now = (ruling?.now ?? 0) + passed;
        for (const name of names) {
          const { openedAt } = model.get(name) ?? { openedAt: 0 };
          if (now >= openedAt + SECONDS[name] * 1_000)
            model.set(name, { spent: 0, openedAt: -Infinity });
        }
        const room = Math.min(
          ...names.map((name) => allowed[name] - (model.get(name)?.spent ?? 0)),
        );
        const granted = Math.max(0, Math.min(wanted, room));
        expect(ruling?.granted).toBe(granted);
        expect(ruling?.verdict).toBe(granted === 0 ? "limited" : "ok");
        for (const name of names) {
          const state = model.get(name) ?? { spent: 0, openedAt: -Infinity };
          // The plan's windows open with a request, be it refused; an endpoint's with one it grants.
          const opens = granted > 0 || name !== RULE.limit;
          if (opens && state.openedAt === -Infinity) state.openedAt = now;
          state.spent += granted;
          model.set(name, state);
          const window = ruling?.windows.find((told) => told.name === name);
          expect(window).toMatchObject({
            allowed: allowed[name],
            seconds: SECONDS[name],
            spent: state.spent,
          });
          if (state.openedAt === -Infinity) continue;
          const resetsAt = state.openedAt + SECONDS[name] * 1_000;
          expect((window?.resetsAt ?? 0) + passed).toBeCloseTo(resetsAt, -1);
        }
        // Refusals in a row would suspend the account, which is another test's matter.
        await sql`update accounts set suspended_until = null where id = ${account}`;
        await sql`update plan_windows set refused = 0 where account_id = ${account}`;
      }
    }),
    {
      numRuns: 200,
      examples: [
        // Refused by the endpoint's window after the minute has closed, and granted within the next one.
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

async function passTime(account: string, seconds: number): Promise<void> {
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
