/**
 * Goal: the stack comes up, goes down and heals without leaving anything behind, whatever is done to
 * its processes; what it kept is there again the next time.
 */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { dirname } from "node:path";

import { startOf } from "../../deploy/local/processes.ts";
import { call, linkAnswer, summaryAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import {
  createDataDir,
  processesOf,
  removeDataDir,
  spawnSupervisor,
  type Stack,
  startStack,
} from "../harness/stack.ts";

const HEALED_MS = 30_000;
const CLICK_VISIBLE_MS = 5_000;

async function createLink(stack: Stack) {
  const { api_url, api_key } = stack.info();
  const { status, body } = await call(`${api_url}/v1/links`, {
    key: api_key,
    body: { url: "https://example.com/kept" },
  });
  expect(status).toBe(201);
  return linkAnswer.parse(body);
}

async function expectClicks(stack: Stack, id: string, clicks: number): Promise<void> {
  const { api_url, api_key } = stack.info();
  await eventually(async () => {
    const { body } = await call(`${api_url}/v1/analytics/${id}`, { key: api_key });
    expect(summaryAnswer.parse(body).summary.total_clicks).toBe(clicks);
  }, CLICK_VISIBLE_MS);
}

const pidsOf = (stack: Stack): number[] =>
  Object.values(stack.info().pids).filter((pid) => pid !== null);

/** A process that has ended and waits for its parent to notice does not run. */
const isRunning = (pid: number): boolean => startOf(pid) !== undefined;

describe("stopping", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("by %s leaves no process", async (signal) => {
    await using stack = await startStack();
    const pids = pidsOf(stack);
    expect(pids).toHaveLength(6);
    expect(await stack.stop(signal)).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(processesOf(dirname(stack.dataDir))).toEqual([]);
  });

  test("by Ctrl-C, which npm passes on as well, leaves no process", async () => {
    await using stack = await startStack();
    const pids = pidsOf(stack);
    stack.supervisor.kill("SIGINT");
    await Bun.sleep(20);
    expect(await stack.stop("SIGINT")).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test("keeps links and clicks for the next start", async () => {
    const dataDir = createDataDir();
    try {
      await using first = await startStack({ dataDir });
      const key = first.info().api_key;
      const link = await createLink(first);
      expect((await call(link.short_url)).status).toBe(302);
      // Stopped at once: the click is still on its way.
      await first.stop();

      await using second = await startStack({ dataDir });
      expect(second.info().api_key).toBe(key);
      const redirect = await call(`${second.info().short_url}/${link.alias}`);
      expect(redirect.headers.get("location")).toBe("https://example.com/kept");
      await expectClicks(second, link.id, 2);
      await second.stop();

      await using fresh = await startStack({ dataDir, args: ["--fresh"] });
      expect(fresh.info().api_key).not.toBe(key);
      expect((await call(`${fresh.info().short_url}/${link.alias}`)).status).toBe(404);
    } finally {
      removeDataDir(dataDir);
    }
  });
});

describe("faults", () => {
  test("kill -9 of the supervisor leaves the next start able to start, and nothing of the old one", async () => {
    const dataDir = createDataDir();
    try {
      const first = await startStack({ dataDir });
      const link = await createLink(first);
      await call(link.short_url);
      const pids = pidsOf(first);
      await first.stop("SIGKILL");
      expect(pids.filter(isRunning)).toEqual(pids);
      await using second = await startStack({ dataDir });
      expect(pids.filter(isRunning)).toEqual([]);
      await expectClicks(second, link.id, 1);
    } finally {
      removeDataDir(dataDir);
    }
  });

  test("a killed process is started again and the stack is whole", async () => {
    await using stack = await startStack();
    let clicks = 0;
    const link = await createLink(stack);
    for (const name of ["redirector", "api", "worker", "clickhouse", "nats", "postgres"] as const) {
      const pid = stack.info().pids[name];
      expect(pid).not.toBeNull();
      process.kill(Number(pid), "SIGKILL");
      await eventually(async () => expect(stack.info().pids[name]).not.toBe(pid), HEALED_MS);
      const { api_metrics_url, redirector_metrics_url, worker_metrics_url } = stack.info();
      await eventually(async () => {
        for (const url of [api_metrics_url, redirector_metrics_url, worker_metrics_url]) {
          expect((await call(`${url}/readyz`)).status).toBe(200);
        }
        expect((await call(`${stack.info().clickhouse_url}/ping`)).status).toBe(200);
      }, HEALED_MS);
      const made = await eventually(() => createLink(stack), HEALED_MS);
      expect((await call(made.short_url)).status).toBe(302);
      expect((await call(link.short_url)).status).toBe(302);
      clicks++;
      await expectClicks(stack, link.id, clicks);
    }
  });

  test("a second start beside a running one is refused, and says so", async () => {
    await using stack = await startStack();
    const { supervisor, output } = await spawnSupervisor({ dataDir: stack.dataDir });
    expect(await supervisor.exited).toBe(1);
    expect(output()).toContain("already running");
    expect((await call(`${stack.info().api_metrics_url}/readyz`)).status).toBe(200);
  });

  test("a bad setting is named, and nothing is started", async () => {
    const { supervisor, output, dataDir } = await spawnSupervisor({ env: { API_PORT: "no-port" } });
    expect(await supervisor.exited).toBe(2);
    expect(output()).toContain("API_PORT");
    expect(processesOf(dirname(dataDir))).toEqual([]);
    removeDataDir(dataDir);
  });
});

describe("surroundings", () => {
  test("a taken port is named and another one used", async () => {
    const other = createServer();
    await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
    const address = other.address();
    const port = typeof address === "object" && address !== null ? String(address.port) : "";
    await using stack = await startStack({ env: { REDIRECTOR_PORT: port } });
    expect(stack.output()).toContain(`Port ${port} for short links is taken`);
    expect(new URL(stack.info().short_url).port).not.toBe(port);
    const link = await createLink(stack);
    expect((await call(link.short_url)).status).toBe(302);
    await new Promise((done) => other.close(done));
  });

  test("a data directory that only root can reach will do", async () => {
    const dataDir = createDataDir({ reachable: false });
    try {
      await using stack = await startStack({ dataDir });
      await createLink(stack);
    } finally {
      removeDataDir(dataDir);
    }
  });

  test("parts that run elsewhere are used and left running", async () => {
    await using parts = await startStack();
    const { database_url, nats_url, clickhouse_url } = parts.info();
    await using stack = await startStack({
      env: { DATABASE_URL: database_url, NATS_URL: nats_url, CLICKHOUSE_URL: clickhouse_url },
    });
    const { pids } = stack.info();
    expect([pids.postgres, pids.nats, pids.clickhouse]).toEqual([null, null, null]);
    const link = await createLink(stack);
    expect((await call(link.short_url)).status).toBe(302);
    await expectClicks(stack, link.id, 1);
    // The same link on the other redirector: both follow one feed.
    expect((await call(`${parts.info().short_url}/${link.alias}`)).status).toBe(302);
    await stack.stop();
    await createLink(parts);
  });

  test("a part that does not answer is named", async () => {
    const { supervisor, output, dataDir } = await spawnSupervisor({
      env: { NATS_URL: "nats://127.0.0.1:9" },
    });
    expect(await supervisor.exited).toBe(1);
    expect(output()).toContain("NATS_URL");
    removeDataDir(dataDir);
  });
});
