/**
 * Goal: no window ever accepts more than its limit, and the reported remainder is exact. Method:
 * compares the SQL function with a model over random requests and random intervals, by moving the
 * open windows into the past.
 */
import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import type { Uuid } from "../../shared/ids.ts";
import { FakeApi } from "../../test/harness/fake-api.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { SEED } from "../../test/harness/seed.ts";
import { parseKey } from "../auth/api-key.ts";
import { authorizeAll } from "../auth/sql.ts";
import { ApiError } from "../http/errors.ts";
import {
  FileBudget,
  findExhausted,
  findMostConstrained,
  type LimitWindow,
  rateLimitHeaders,
} from "./windows.ts";

const RULE = { scope: "links:write", endpoint: "POST /v1/links", cost: 1 } as const;

/** The lengths of the windows. */
const SECONDS = { minute: 60, day: 86_400, [RULE.endpoint]: 3_600 };

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
      const limits = { minute, day, burst: 1_000_000, endpoints: { [RULE.endpoint]: endpoint } };
      await sql`update accounts set limits = ${sql.json(limits)}, suspended_until = null where id = ${account}`;
      await sql`delete from plan_windows where account_id = ${account}`;
      await sql`delete from endpoint_windows where account_id = ${account}`;
      const limitOf = { minute, day, [RULE.endpoint]: endpoint };
      const names = ["minute", "day", RULE.endpoint] as const;
      const model = new Map(names.map((name) => [name, { used: 0, openedAt: -Infinity }]));
      let passed = 0;

      for (const { passSeconds, wanted } of steps) {
        await passTime(account, passSeconds);
        passed += passSeconds * 1_000;
        const [result] = await authorizeAll(sql, [
          { key, rule: RULE, wanted, refused: 0, network: null },
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
          const opens = granted > 0 || name !== RULE.endpoint;
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

const window = (change: Partial<LimitWindow>): LimitWindow => ({
  name: "minute",
  limit: 10,
  seconds: 60,
  spent: 0,
  resetsAt: 1_000_500,
  ...change,
});

describe("rate-limit windows", () => {
  test("the most constrained has the lowest share left; of equal ones it closes last", () => {
    const roomy = window({ name: "day", limit: 1_000, spent: 100 });
    const tight = window({ spent: 9 });
    expect(findMostConstrained([roomy, tight])).toBe(tight);
    const later = window({ name: "later", spent: 9, resetsAt: 2_000_000 });
    expect(findMostConstrained([later, tight])).toBe(later);
    expect(findMostConstrained([tight, later])).toBe(later);
    expect(findMostConstrained([])).toBeUndefined();
  });

  test("of several exhausted ones, the one with the longest wait is chosen", () => {
    const short = window({ spent: 10 });
    const long = window({ name: "day", spent: 10, resetsAt: 9_000_000 });
    expect(findExhausted([short, long, window({ resetsAt: 99_000_000 })])).toBe(long);
  });

  test("headers describe one window, with the reset rounded up", () => {
    expect(rateLimitHeaders(window({ spent: 4 }), 990_000)).toEqual({
      "x-ratelimit-limit": "10",
      "x-ratelimit-remaining": "6",
      "x-ratelimit-reset": "1001",
      "x-ratelimit-policy": "10;w=60",
      ratelimit: '"minute";r=6;t=11',
      "ratelimit-policy": '"minute";q=10;w=60',
    });
  });
});

const MIB = 1024 ** 2;

const ownAddress = (): string => "203.0.113.1";

/** How many files of a size an address gets until it is refused, at most 10,000. */
function fetchAll(budget: FileBudget, addressOf: (i: number) => string, bytes: number): number {
  for (let i = 0; i < 10_000; i++)
    try {
      budget.charge(addressOf(i), bytes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      expect(error.reason).toBe("rate_limited");
      return i;
    }
  return 10_000;
}

// Goal: nobody fetches files without end, and nobody pays for those of another network.
describe("the bytes of files", () => {
  test("are bounded for each network, and come back with time", () => {
    let now = 0;
    const budget = new FileBudget(() => now);
    const first = fetchAll(budget, ownAddress, MIB);
    expect(first).toBeGreaterThan(200);
    expect(first).toBeLessThan(300);
    expect(fetchAll(budget, () => "203.0.113.2", MIB)).toBe(first);
    now += 10_000;
    const later = fetchAll(budget, ownAddress, MIB);
    expect(later).toBeGreaterThan(0);
    expect(later).toBeLessThan(first / 2);
  });

  test("are bounded for all networks of an IPv6 site together", () => {
    const budget = new FileBudget(() => 0);
    const fetched = fetchAll(budget, (i) => `2001:db8:0:${i.toString(16)}::1`, MIB);
    expect(fetched).toBeGreaterThan(2_000);
    expect(fetched).toBeLessThan(3_000);
  });

  test("are charged also for a response without any", () => {
    const budget = new FileBudget(() => 0);
    expect(fetchAll(budget, ownAddress, 0)).toBe(10_000);
    for (let i = 0; i < 20; i++) fetchAll(budget, ownAddress, 0);
    expect(fetchAll(budget, ownAddress, 0)).toBe(0);
  });
});

test("the files of the reference are charged, and refused to who has fetched too many", async () => {
  const api = new FakeApi({});
  const key = api.addKey();
  using charge = spyOn(FileBudget.prototype, "charge");
  const paths = [
    "/docs",
    "/docs/start.js",
    "/docs/swagger-ui.css",
    "/docs/errors",
    "/v1/openapi.json",
  ];
  const lengths: number[] = [];
  for (const path of paths) lengths.push(Buffer.byteLength((await api.send(path)).text));
  expect(charge.mock.calls.map(([, bytes]) => bytes)).toEqual(lengths);
  charge.mockImplementation(() => {
    throw new ApiError("rate_limited", "Too many files.", { retryAfterSeconds: 3 });
  });
  for (const path of paths) {
    const { status, headers } = await api.send(path);
    expect([path, status, headers.get("retry-after")]).toEqual([path, 429, "3"]);
  }
  expect((await api.send("/v1/limits", { key })).status).toBe(200);
});
