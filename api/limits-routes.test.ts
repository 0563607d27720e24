/** Goal: limits are described in every response and by `/v1/limits`, which consumes nothing. */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { createFakeApi, errorCodeOf } from "../test/harness/fake-api.ts";
import { budgets } from "./limits/budgets.ts";

const api = createFakeApi({ links: { list: async () => ({ rows: [], total: 0, next: null }) } });

const budgetSchema = z.object({
  name: z.string(),
  unit: z.string(),
  limit: z.number(),
  remaining: z.number(),
  per_hour: z.number(),
});

const RATE_LIMIT_HEADERS = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-ratelimit-policy",
];

describe("GET /v1/limits", () => {
  test("returns every window with what remains of it, and consumes nothing", async () => {
    const key = api.addKey({ remaining: 7 });
    for (let i = 0; i < 3; i++) {
      const { status, body } = await api.send("/v1/limits", { key });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        plan: "pro",
        limits: [{ name: "minute", limit: 1_000, remaining: 7, window: 60 }],
      });
    }
  });

  test("answers a key 50 times in 3 seconds, then says when to ask again, and still consumes nothing", async () => {
    const key = api.addKey({ remaining: 7 });
    const responses = await Promise.all(
      Array.from({ length: 80 }, () => api.send("/v1/limits", { key })),
    );
    const rejected = responses.filter(({ status }) => status !== 200);
    // A busy machine may see a second window begin.
    expect(rejected.length).toBeLessThanOrEqual(30);
    const [first] = rejected;
    if (first === undefined) throw new Error("No request was rejected.");
    expect([first.status, errorCodeOf(first)]).toEqual([429, "rate_limited"]);
    expect(Number(first.headers.get("retry-after"))).toBeWithin(1, 4);
    expect(first.headers.get("x-ratelimit-policy")).toBe("50;w=3");
    expect(key.remaining).toBe(7);
    expect((await api.send("/v1/links", { key })).status).toBe(200);
  });

  test("asks the database twice for any number of requests of an account at once", async () => {
    let queries = 0;
    const listQuotas = async () => {
      queries++;
      await Bun.sleep(100);
      return [];
    };
    const busy = createFakeApi({}, { stores: { listQuotas } });
    const { accountId, ...first } = busy.addKey();
    const second = busy.addKey({ accountId });
    const requests = Array.from({ length: 40 }, (_, i) =>
      busy.send("/v1/limits", { key: i % 2 === 0 ? first.key : second }),
    );
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(queries).toBe(2);
  });

  test("lists the budgets that the caller can meet, with what is left of each", async () => {
    const { accountId, key } = api.addKey();
    budgets.spend({ accountId, plan: "pro" }, "link_passwords", 500 + 1_000);
    const { body } = await api.send("/v1/limits", { key });
    const { budgets: listed } = z.object({ budgets: z.array(budgetSchema) }).parse(body);
    const names = listed.map(({ name }) => name);
    expect(names).toContain("statistics");
    // Strangers meet it, and operators see it.
    expect(names).not.toContain("click_event_bytes");
    expect(listed.find(({ name }) => name === "link_passwords")).toMatchObject({
      unit: "passwords",
      limit: 500,
      remaining: 0,
      per_hour: 13_500,
    });
  });

  test("needs a key, and no scope", async () => {
    const nobody = await api.send("/v1/limits");
    expect([nobody.status, errorCodeOf(nobody)]).toEqual([401, "unauthorized"]);
    expect((await api.send("/v1/limits", { key: api.addKey({ scopes: [] }) })).status).toBe(200);
  });
});

describe("a request", () => {
  test("consumes one from the window that its headers describe", async () => {
    const key = api.addKey({ remaining: 2 });
    for (const left of ["1", "0"]) {
      const { status, headers } = await api.send("/v1/links", { key });
      expect([status, headers.get("x-ratelimit-remaining")]).toEqual([200, left]);
    }
  });

  test("is rejected when the window is used up, with how long to wait", async () => {
    const key = api.addKey({ remaining: 0 });
    const response = await api.send("/v1/links", { key });
    expect([response.status, errorCodeOf(response)]).toEqual([429, "rate_limited"]);
    const wait = Number(response.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(response.body).toMatchObject({ error: { retry_after: wait } });
  });

  test("carries the four headers however it ends", async () => {
    const key = api.addKey({ scopes: ["links:read"] });
    for (const [path, options] of [
      ["/v1/links", { key }],
      ["/v1/links", { key, body: {} }],
      ["/v1/links", { key: "sk_live_nonsense" }],
      ["/v1/nothing", {}],
    ] as const) {
      const { headers } = await api.send(path, options);
      for (const name of RATE_LIMIT_HEADERS) expect(headers.get(name)).toMatch(/^\d/);
    }
  });

  test("consumes nothing of an account whose key is only known in part", async () => {
    const key = api.addKey({ remaining: 5 });
    const forged = `${key.key.slice(0, 30)}${"0".repeat(key.key.length - 30)}`;
    const response = await api.send("/v1/links", { key: forged });
    expect([response.status, errorCodeOf(response)]).toEqual([401, "unauthorized"]);
    expect(key.remaining).toBe(5);
  });
});
