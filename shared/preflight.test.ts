/**
 * Goal: what is wrong with a clock or a running process, `shorthop doctor` says, with what to do
 * about it.
 */
import { afterEach, expect, test } from "bun:test";

import { Registry } from "prom-client";

import { type HealthSource, InternalServer } from "./internal-server.ts";
import { checkClock, checkRunning, runChecks } from "./preflight.ts";

const find = async (offsetMs: number, delayMs = 0) => {
  const [finding] = await runChecks([
    checkClock("NATS", async () => {
      await Bun.sleep(delayMs);
      return Date.now() + offsetMs;
    }),
  ]);
  return finding;
};

test("a clock that is off by more than a second is named, with its direction", async () => {
  expect(await find(0)).toEqual({ check: "clock of NATS", status: "ok" });
  expect(await find(10_000)).toMatchObject({
    status: "warning",
    detail: expect.stringMatching(/^it is \d+\.\d s ahead of this machine's$/),
  });
  expect(await find(-3_600_000)).toMatchObject({
    status: "failed",
    detail: expect.stringContaining("behind this machine's"),
  });
});

test("a slow answer is not taken for a wrong clock", async () => {
  // In the middle of the wait, their clock would be 1.5 s ahead.
  expect(await find(0, 3_000)).toMatchObject({ status: "ok" });
});

const HOST = "127.0.0.1";

const servers: InternalServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** Starts a process's internal server, and returns its port. */
function start(health: HealthSource): number {
  const server = new InternalServer({ host: HOST, port: 0 }, new Registry(), health);
  servers.push(server);
  return Number(server.url.port);
}

const check = (port: number) => runChecks([checkRunning("redirector", HOST, port)]);

test("a process that is well is ok", async () => {
  const port = start({
    readiness: () => ({ process: "ok" }),
    warnings: () => ({ disk: undefined }),
  });
  expect(await check(port)).toEqual([{ check: "running processes", status: "ok" }]);
});

test("each part that is not ready, and each warning, is a finding with a remedy", async () => {
  const port = start({
    readiness: () => ({ process: "ok", postgres: "unreachable" }),
    warnings: () => Promise.resolve({ disk: "2 MiB left", replicas: undefined }),
  });
  expect(await check(port)).toEqual([
    {
      check: "running processes",
      status: "failed",
      detail: `port ${port}, postgres: unreachable`,
      mend: expect.stringContaining("PostgreSQL"),
    },
    {
      check: "running processes",
      status: "warning",
      detail: `port ${port}, disk: 2 MiB left`,
      mend: expect.stringContaining("df"),
    },
  ]);
});

test("all instances of a host are asked", async () => {
  const broken = start({ readiness: () => ({ links_feed: "the store lacks links" }) });
  // Ports at which no process of ours is.
  const ports = { single: broken, instances: 0 };
  const found = await runChecks([checkRunning("redirector", "0.0.0.0", undefined, ports)]);
  expect(found.map(({ status, detail }) => [status, detail])).toEqual([
    ["failed", `port ${broken}, links_feed: the store lacks links`],
  ]);
  const port = start({ readiness: () => ({ clicks: "no" }) });
  const instances = { single: 1, instances: port - 3 };
  const instance = await runChecks([checkRunning("redirector", HOST, undefined, instances)]);
  expect(instance.map(({ detail }) => detail)).toContain(`port ${port}, clicks: no`);
});

test("none that answers is a warning, as is another program at the port", async () => {
  using other = Bun.serve({ hostname: HOST, port: 0, fetch: () => new Response("hello") });
  for (const port of [1, Number(other.url.port)])
    expect(await check(port)).toEqual([
      {
        check: "running processes",
        status: "warning",
        detail: "none responds on its metrics port",
        mend: expect.stringContaining("systemctl status 'shorthop-redirector*'"),
      },
    ]);
});
