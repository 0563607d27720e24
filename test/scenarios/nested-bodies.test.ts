/**
 * Goal: a nested body delays no other client, whatever NODE_ENV is: in development, libraries say
 * more of what is wrong. What both have in common is tested with every change.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { buildDashboard } from "../../deploy/local/dashboard.ts";
import { Watchdog } from "../../deploy/local/watchdog.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { type ApiResponse, call, codeOf } from "../harness/api.ts";
import { smallest } from "../harness/eventually.ts";
import { freePort } from "../harness/ports.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

/** Arrays in arrays: one hundred kilobytes. */
const DEPTH = 50_000;

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Bound on how much longer other clients may wait: coarse, because it depends on the machine. */
const ADDED_DELAY_MS_MAX = 1_000;

/**
 * Requests of another client during an attack, which used to freeze a process for 15 s (3 s with
 * NODE_ENV=production).
 */
const OTHER_REQUESTS = 10;

let stack: SharedStack;
beforeAll(async () => {
  stack = await useStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

/** Starts an API process with a dashboard and the given NODE_ENV. */
async function startSite(nodeEnv: string): Promise<{ api: ExtraProcess; dashboard: string }> {
  const dashboard = `http://localhost:${freePort()}`;
  const api = await startApi(stack, {
    NODE_ENV: nodeEnv,
    DASHBOARD_URL: dashboard,
    DASHBOARD_HOST: "127.0.0.1",
    DASHBOARD_PORT: new URL(dashboard).port,
    DASHBOARD_SECRET: "a secret of this test, long enough",
    DASHBOARD_DIR: buildDashboard(new Watchdog()).folder,
  });
  return { api, dashboard };
}

/**
 * Runs `attack` beside another client's requests. Returns its response, and by how many
 * milliseconds the slowest of those requests was slower than without the attack.
 */
async function measureAddedDelay(
  attack: () => Promise<ApiResponse>,
  sendOther: () => Promise<ApiResponse>,
): Promise<{ response: ApiResponse; delayMs: number }> {
  // The first request of its kind is slow by itself.
  let response = await attack();
  const delayMs = await smallest(async () => {
    const baseline = await measureSlowest(sendOther);
    const [attacked, slowest] = await Promise.all([attack(), measureSlowest(sendOther)]);
    response = attacked;
    return Math.round(slowest - baseline);
  }, ADDED_DELAY_MS_MAX);
  return { response, delayMs };
}

async function measureSlowest(sendOther: () => Promise<ApiResponse>): Promise<number> {
  const times = Array.from({ length: OTHER_REQUESTS }, async (_, i) => {
    await Bun.sleep(i * 25);
    const start = performance.now();
    const { status } = await sendOther();
    expect(status).toBe(200);
    return performance.now() - start;
  });
  return Math.max(...(await Promise.all(times)));
}

describe.each(["development", "production"])("with NODE_ENV=%s the API", (nodeEnv) => {
  let api: ExtraProcess;
  let dashboard: string;
  let key: string;
  beforeAll(async () => {
    ({ api, dashboard } = await startSite(nodeEnv));
    ({ key } = await createAccount(stack, "enterprise", UNLIMITED));
    // The first request of its kind is slow for any client.
    await listLinks();
    await call(`${dashboard}/auth/sign-in`, { body: {}, headers: { origin: dashboard } });
  });
  afterAll(() => api.stop());

  const listLinks = () => call(`${api.url}/v1/links`, { key });

  test.each([
    ["arrays in a field", `{"email":${nested(DEPTH)}}`],
    ["arrays", nested(DEPTH)],
    ["objects", `${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`],
    ["a value in brackets that never end", `{"email":${"[".repeat(DEPTH)}`],
  ])(
    "rejects a request of 100 KB without a key, nested %s, without delaying other clients",
    async (_name, body) => {
      const { response, delayMs } = await measureAddedDelay(
        () =>
          call(`${dashboard}/auth/sign-in`, {
            body,
            headers: { origin: dashboard, "sec-fetch-site": "same-origin" },
          }),
        listLinks,
      );
      console.log(
        `NODE_ENV=${nodeEnv}: ${response.status}, another client waited ${delayMs} ms more`,
      );
      expect(codeOf(response)).toEqual([400, "invalid_request"]);
      expect(delayMs).toBeLessThan(ADDED_DELAY_MS_MAX);
    },
  );

  test("rejects a nested body with a key without delaying other clients", async () => {
    const { response, delayMs } = await measureAddedDelay(
      () => call(`${api.url}/v1/links`, { key, body: `{"url":${nested(DEPTH)}}` }),
      listLinks,
    );
    expect(response.status).toBe(400);
    expect(delayMs).toBeLessThan(ADDED_DELAY_MS_MAX);
  });
});
