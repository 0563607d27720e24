/**
 * Goal: the stack starts and stops without leaving processes behind; its data is available at the
 * next start. What becomes of processes that are killed is in `test/e2e/faults.test.ts`.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import * as z from "zod";

import { call, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { isRunning } from "../harness/process-usage.ts";
import {
  attachStack,
  createDataDir,
  findProcesses,
  removeDataDir,
  type SharedStack,
  spawnSupervisor,
  type Stack,
  startStack,
} from "../harness/stack.ts";

const RECOVERY_TIMEOUT_MS = 30_000;
const CLICK_VISIBLE_MS = 5_000;

const accessSchema = z.object({ api_url: z.string(), api_key: z.string() });

/** How to call the API of a stack that runs on a data directory. */
const readAccess = (dataDir: string) =>
  accessSchema.parse(JSON.parse(readFileSync(join(dataDir, "stack.json"), "utf8")));

async function createLink({ dataDir }: Pick<Stack, "dataDir">) {
  const { api_url, api_key } = readAccess(dataDir);
  const { status, body } = await call(`${api_url}/v1/links`, {
    key: api_key,
    body: { url: "https://example.com/persistent" },
  });
  expect(status).toBe(201);
  return linkSchema.parse(body);
}

async function expectClicks(stack: Stack, id: string, clicks: number): Promise<void> {
  const { api_url, api_key } = stack.info();
  await eventually(async () => {
    const { body } = await call(`${api_url}/v1/analytics/${id}`, { key: api_key });
    expect(summarySchema.parse(body).summary.total_clicks).toBe(clicks);
  }, CLICK_VISIBLE_MS);
}

const pidsOf = (stack: Stack): number[] =>
  Object.values(stack.info().pids).filter((pid) => pid !== null);

/** Waits until no process of the stack runs. */
const expectNoOrphans = (dir: string): Promise<void> =>
  eventually(async () => expect(findProcesses(dir)).toEqual([]));

/** Stops the stack by a signal: it ends without an error, and so does all that it had started. */
async function expectCleanStop(stack: Stack, signal: NodeJS.Signals): Promise<void> {
  const pids = pidsOf(stack);
  expect(await stack.stop(signal)).toBe(0);
  expect(pids.filter(isRunning)).toEqual([]);
  expect(findProcesses(dirname(stack.dataDir))).toEqual([]);
}

describe("a stack that is stopped and started again", () => {
  test("by Ctrl-C, SIGTERM or SIGHUP leaves no process, and keeps links and clicks for the next start", async () => {
    const dataDir = createDataDir();
    try {
      await using first = await startStack({ dataDir });
      expect(pidsOf(first)).toHaveLength(6);
      const key = first.info().api_key;
      const link = await createLink(first);
      expect((await call(link.short_url)).status).toBe(302);
      // Stopped at once: the click has not reached ClickHouse yet. By two signals, as npm forwards
      // the terminal's.
      first.supervisor.kill("SIGINT");
      await Bun.sleep(20);
      await expectCleanStop(first, "SIGINT");

      await using second = await startStack({ dataDir });
      expect(second.info().api_key).toBe(key);
      const redirect = await call(`${second.info().short_url}/${link.alias}`);
      expect(redirect.headers.get("location")).toBe("https://example.com/persistent");
      await expectClicks(second, link.id, 2);
      await expectCleanStop(second, "SIGTERM");

      await using fresh = await startStack({ dataDir, args: ["--fresh"] });
      expect(fresh.info().api_key).not.toBe(key);
      expect((await call(`${fresh.info().short_url}/${link.alias}`)).status).toBe(404);
      await expectCleanStop(fresh, "SIGHUP");
    } finally {
      removeDataDir(dataDir);
    }
  });
});

describe("after a crash", () => {
  test("of a test runner by kill -9 its stack and additional processes end", async () => {
    const dataDir = createDataDir();
    try {
      const runner = Bun.spawn(
        [process.execPath, join(import.meta.dir, "../harness/runner.ts"), dataDir],
        {
          stdin: "ignore",
          stdout: "pipe",
          stderr: "inherit",
        },
      );
      const { value } = await runner.stdout.getReader().read();
      expect(new TextDecoder().decode(value)).toContain("running");
      // The supervisor, its six processes and the additional redirector; PostgreSQL has child
      // processes too.
      expect(findProcesses(dirname(dataDir)).length).toBeGreaterThanOrEqual(8);
      runner.kill("SIGKILL");
      await runner.exited;
      await expectNoOrphans(dirname(dataDir));
    } finally {
      removeDataDir(dataDir);
    }
  });

  test("of the supervisor by kill -9 during its start no process is left", async () => {
    const dataDir = createDataDir();
    try {
      const { supervisor } = await spawnSupervisor({ dataDir });
      await eventually(
        async () => expect(findProcesses(dirname(dataDir)).length).toBeGreaterThanOrEqual(3),
        RECOVERY_TIMEOUT_MS,
      );
      supervisor.kill("SIGKILL");
      await supervisor.exited;
      await expectNoOrphans(dirname(dataDir));
    } finally {
      removeDataDir(dataDir);
    }
  });
});

/**
 * Starts a stack on the data directory of a running one: it is rejected, and the other one runs on.
 */
async function expectRejectedBeside(dataDir: string): Promise<void> {
  const { supervisor, output } = await spawnSupervisor({ dataDir });
  expect(await supervisor.exited).toBe(1);
  expect(output()).toContain("already running");
  const { api_metrics_url } = attachStack(dataDir).info();
  expect((await call(`${api_metrics_url}/readyz`)).status).toBe(200);
}

/** Starts a stack elsewhere that uses the services of a running one, and wants its port. */
async function expectUseOfServices(services: SharedStack): Promise<void> {
  const { database_url, nats_url, clickhouse_url, short_url, ...info } = services.info();
  const { port } = new URL(short_url);
  await using stack = await startStack({
    env: {
      DATABASE_URL: database_url,
      NATS_URL: nats_url,
      CLICKHOUSE_URL: clickhouse_url,
      LINKS_SIGNING_KEY: info.links_signing_key ?? "",
      REDIRECTOR_PORT: port,
    },
  });
  expect(stack.output()).toContain(`Port ${port} for short links is in use`);
  expect(new URL(stack.info().short_url).port).not.toBe(port);
  const { pids } = stack.info();
  expect([pids.postgres, pids.nats, pids.clickhouse]).toEqual([null, null, null]);
  const link = await createLink(stack);
  expect((await call(link.short_url)).status).toBe(302);
  await expectClicks(stack, link.id, 1);
  // The other redirector serves the same link: both consume one stream.
  expect((await call(`${short_url}/${link.alias}`)).status).toBe(302);
  // It stops what it has started, and not the services.
  await stack.stop();
  await createLink(services);
}

describe("a start of the stack", () => {
  test("beside one that is starting or running is rejected, and that one works, where only root can reach its data; elsewhere it may use the services of that one, but not its port", async () => {
    const dataDir = createDataDir({ reachable: false });
    const starts = await Promise.all([1, 2].map(() => spawnSupervisor({ dataDir })));
    try {
      const rejected = await Promise.race(
        starts.map(async (start) => ({ start, code: await start.supervisor.exited })),
      );
      expect(rejected.code).toBe(1);
      expect(rejected.start.output()).toMatch(/already (starting|running) here/);
      const other = starts.find((start) => start !== rejected.start);
      await eventually(
        async () => expect(other?.output()).toContain("Ready after"),
        RECOVERY_TIMEOUT_MS,
      );
      await createLink({ dataDir });
      await expectRejectedBeside(dataDir);
      await expectUseOfServices(attachStack(dataDir));
    } finally {
      for (const { supervisor } of starts) supervisor.kill("SIGTERM");
      await Promise.all(starts.map(({ supervisor }) => supervisor.exited));
      removeDataDir(dataDir);
    }
  });

  test("with an invalid setting names it and starts nothing", async () => {
    const { supervisor, output, dataDir } = await spawnSupervisor({ env: { API_PORT: "no-port" } });
    expect(await supervisor.exited).toBe(2);
    expect(output()).toContain("API_PORT");
    expect(findProcesses(dirname(dataDir))).toEqual([]);
    removeDataDir(dataDir);
  });

  test("with a service that does not respond names it", async () => {
    const { supervisor, output, dataDir } = await spawnSupervisor({
      env: { NATS_URL: "nats://127.0.0.1:9" },
    });
    expect(await supervisor.exited).toBe(1);
    expect(output()).toContain("NATS_URL");
    removeDataDir(dataDir);
  });
});
