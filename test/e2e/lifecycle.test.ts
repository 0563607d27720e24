/**
 * Goal: the stack starts, stops and recovers without leaving processes behind, whatever happens to them; its data is
 * available at the next start.
 */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

import { readStartTime } from "../../deploy/local/process-registry.ts";
import { call, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import {
  createDataDir,
  findProcesses,
  removeDataDir,
  spawnSupervisor,
  type Stack,
  startStack,
} from "../harness/stack.ts";

const RECOVERY_TIMEOUT_MS = 30_000;
const CLICK_VISIBLE_MS = 5_000;
const NO_ORPHANS_MS = 5_000;

async function createLink(stack: Stack) {
  const { api_url, api_key } = stack.info();
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

/** Whether the process runs; a zombie has ended. */
const isRunning = (pid: number): boolean => readStartTime(pid) !== undefined;

/**
 * Waits until no process of the stack runs, nor any of `pids`: one that is ending has given its memory back, and with it
 * the command and environment it is found by, before it is a zombie.
 */
const expectNoOrphans = (dir: string, pids: number[] = []): Promise<void> =>
  eventually(async () => {
    expect(findProcesses(dir)).toEqual([]);
    expect(pids.filter(isRunning)).toEqual([]);
  }, NO_ORPHANS_MS);

describe("stopping the stack", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("by %s leaves no process", async (signal) => {
    await using stack = await startStack();
    const pids = pidsOf(stack);
    expect(pids).toHaveLength(6);
    expect(await stack.stop(signal)).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(findProcesses(dirname(stack.dataDir))).toEqual([]);
  });

  test("by Ctrl-C, which npm forwards as a second signal, leaves no process", async () => {
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
      await using first = await startStack({ dataDir, empty: true });
      const key = first.info().api_key;
      const link = await createLink(first);
      expect((await call(link.short_url)).status).toBe(302);
      // Stopped at once: the click has not reached ClickHouse yet.
      await first.stop();

      await using second = await startStack({ dataDir });
      expect(second.info().api_key).toBe(key);
      const redirect = await call(`${second.info().short_url}/${link.alias}`);
      expect(redirect.headers.get("location")).toBe("https://example.com/persistent");
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

describe("after a crash", () => {
  test("of the supervisor by kill -9 its processes end, and the next start has all stored data", async () => {
    const dataDir = createDataDir();
    try {
      const first = await startStack({ dataDir });
      const link = await createLink(first);
      await call(link.short_url);
      const pids = pidsOf(first);
      await first.stop("SIGKILL");
      await expectNoOrphans(dirname(dataDir), pids);
      await using second = await startStack({ dataDir });
      await expectClicks(second, link.id, 1);
    } finally {
      removeDataDir(dataDir);
    }
  });

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
      // The supervisor, its six processes and the additional redirector; PostgreSQL has child processes too.
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

  test("of any process the supervisor restarts it and the stack works again", async () => {
    await using stack = await startStack();
    let clicks = 0;
    const link = await createLink(stack);
    for (const name of ["redirector", "api", "worker", "clickhouse", "nats", "postgres"] as const) {
      const pid = stack.info().pids[name];
      expect(pid).not.toBeNull();
      process.kill(Number(pid), "SIGKILL");
      await eventually(
        async () => expect(stack.info().pids[name]).not.toBe(pid),
        RECOVERY_TIMEOUT_MS,
      );
      const { api_metrics_url, redirector_metrics_url, worker_metrics_url } = stack.info();
      await eventually(async () => {
        for (const url of [api_metrics_url, redirector_metrics_url, worker_metrics_url]) {
          expect((await call(`${url}/readyz`)).status).toBe(200);
        }
        expect((await call(`${stack.info().clickhouse_url}/ping`)).status).toBe(200);
      }, RECOVERY_TIMEOUT_MS);
      const created = await eventually(() => createLink(stack), RECOVERY_TIMEOUT_MS);
      expect((await call(created.short_url)).status).toBe(302);
      expect((await call(link.short_url)).status).toBe(302);
      clicks++;
      await expectClicks(stack, link.id, clicks);
    }
  });
});

describe("a start of the stack", () => {
  test("beside a running one is rejected with an explanation", async () => {
    await using stack = await startStack();
    const { supervisor, output } = await spawnSupervisor({ dataDir: stack.dataDir });
    expect(await supervisor.exited).toBe(1);
    expect(output()).toContain("already running");
    expect((await call(`${stack.info().api_metrics_url}/readyz`)).status).toBe(200);
  });

  test("beside one that is starting is rejected, and the other one starts", async () => {
    const dataDir = createDataDir();
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

  test("with a port in use reports that and chooses another one", async () => {
    const other = createServer();
    await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
    const address = other.address();
    const port = typeof address === "object" && address !== null ? String(address.port) : "";
    await using stack = await startStack({ env: { REDIRECTOR_PORT: port } });
    expect(stack.output()).toContain(`Port ${port} for short links is in use`);
    expect(new URL(stack.info().short_url).port).not.toBe(port);
    const link = await createLink(stack);
    expect((await call(link.short_url)).status).toBe(302);
    await new Promise((done) => other.close(done));
  });

  test("works with a data directory that only root can reach", async () => {
    const dataDir = createDataDir({ reachable: false });
    try {
      await using stack = await startStack({ dataDir, empty: true });
      await createLink(stack);
    } finally {
      removeDataDir(dataDir);
    }
  });

  test("uses services that run elsewhere, and does not stop them", async () => {
    await using services = await startStack();
    const { database_url, nats_url, clickhouse_url } = services.info();
    await using stack = await startStack({
      env: { DATABASE_URL: database_url, NATS_URL: nats_url, CLICKHOUSE_URL: clickhouse_url },
    });
    const { pids } = stack.info();
    expect([pids.postgres, pids.nats, pids.clickhouse]).toEqual([null, null, null]);
    const link = await createLink(stack);
    expect((await call(link.short_url)).status).toBe(302);
    await expectClicks(stack, link.id, 1);
    // The other redirector serves the same link: both consume one stream.
    expect((await call(`${services.info().short_url}/${link.alias}`)).status).toBe(302);
    await stack.stop();
    await createLink(services);
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
