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
import type { LimitWindow } from "../../api/limits/windows.ts";
import { createAccount } from "../harness/admin.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const RULE = { scope: "links:write", limit: "POST /v1/links", cost: 1 } as const;

/** Windows long enough that no real time ends them while a case runs. */
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
      const model = new Map(names.map((name) => [name, { spent: 0, left: 0 }]));

      for (const { passSeconds, wanted } of steps) {
        await passTime(account, passSeconds);
        for (const state of model.values()) state.left -= passSeconds;
        for (const name of names) {
          const state = model.get(name);
          if (state !== undefined && state.left <= 0) model.set(name, { spent: 0, left: 0 });
        }
        const room = Math.min(
          ...names.map((name) => allowed[name] - (model.get(name)?.spent ?? 0)),
        );
        const granted = Math.max(0, Math.min(wanted, room));

        const ruling = await authorizeAll(sql, key, RULE, wanted, 0);
        expect(ruling?.granted).toBe(granted);
        expect(ruling?.verdict).toBe(granted === 0 ? "limited" : "ok");
        for (const name of names) {
          const state = model.get(name) ?? { spent: 0, left: 0 };
          // A window opens with the first request it grants.
          if (granted > 0 && state.left <= 0) state.left = SECONDS[name];
          state.spent += granted;
          model.set(name, state);
          const window = ruling?.windows.find((told) => told.name === name);
          expect(window).toMatchObject({
            allowed: allowed[name],
            seconds: SECONDS[name],
            spent: state.spent,
          });
          if (state.left > 0) expectReset(window, ruling?.now ?? 0, state.left);
        }
        // Refusals in a row would suspend the account, which is another test's matter.
        await sql`update accounts set suspended_until = null where id = ${account}`;
        await sql`update plan_windows set refused = 0 where account_id = ${account}`;
      }
    }),
    { numRuns: 60 },
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

/** The model knows whole seconds; the case itself takes a few more. */
function expectReset(window: LimitWindow | undefined, now: number, leftSeconds: number): void {
  const told = ((window?.resetsAt ?? 0) - now) / 1_000;
  expect(told).toBeLessThanOrEqual(leftSeconds + 0.001);
  expect(told).toBeGreaterThan(leftSeconds - 30);
}
