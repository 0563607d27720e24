/**
 * Goal: a limited link never leads on more often than it may, whatever fails, and what is left can
 * be had.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LIMITS_STREAM } from "../../shared/contracts/streams.ts";
import { createAccount, type NewAccount, UNLIMITED, withOwnDatabase } from "../harness/admin.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { laterNatsServer, startNats } from "../harness/nats.ts";
import { OwnLinks, RECOVERY_MS } from "../harness/own-links.ts";
import { type ExtraProcess, startApi, startRedirector } from "../harness/processes.ts";
import { type SharedStack, startStack } from "../harness/stack.ts";

const CLIENTS = 100;

/**
 * How long a client waits after a refusal, as people do: longer where the limit has been reached
 * than while it is busy.
 */
const REACHED_PAUSE_MS = 200;
const BUSY_PAUSE_MS = 20;

/** Characters of a log's end that a failure shows. */
const LOG_END = 3_000;

/** What a process says of itself: its readiness and the end of its log. */
async function describeProcess({ url, metricsUrl, output }: ExtraProcess): Promise<string> {
  const readiness = await fetch(`${metricsUrl}/readyz`).then(
    (response) => response.text(),
    (error: unknown) => String(error),
  );
  return `${url}: ${readiness}\n${output().slice(-LOG_END)}`;
}

/** A redirector that can be killed and started again on its journal. */
type Redirector = {
  url(): string;
  kill(): Promise<void>;
  describe(): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
};

const stack = await forFile(startStack());
const links = await OwnLinks.start(stack);
// A redirector leases no click in the first seconds after its start.
const { alias } = await links.create({ max_clicks: 1 });
expect((await links.followSettled(alias)).status).toBe(302);

async function createRedirector(env: Record<string, string> = {}): Promise<Redirector> {
  const journal = mkdtempSync(join(tmpdir(), "shorthop-limits-"));
  const start = () => startRedirector(stack, { JOURNAL_DIR: journal, ...env });
  let running: ExtraProcess = await start();
  return {
    url: () => running.url,
    async kill() {
      process.kill(running.pid, "SIGKILL");
      await running.stop();
      running = await start();
    },
    describe: () => describeProcess(running),
    async [Symbol.asyncDispose]() {
      await running.stop();
      rmSync(journal, { recursive: true, force: true });
    },
  };
}

/** Starts redirectors and stops them at the end. */
async function createFleet(count: number, env: Record<string, string> = {}) {
  const stacked = new AsyncDisposableStack();
  const redirectors: Redirector[] = [];
  for (let i = 0; i < count; i++) redirectors.push(stacked.use(await createRedirector(env)));
  return { redirectors, [Symbol.asyncDispose]: () => stacked.disposeAsync() };
}

type Storm = {
  led: number;
  refused: number;
  failed: number;
  /**
   * Waits until so many were led on; throws what the clients got instead, and what the processes
   * say.
   */
  untilLed(count: number): Promise<void>;
  /**
   * Waits until each client was refused some times more: no click is left that one of them could
   * get.
   */
  untilRefused(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Refusals for each client after which none of them gets a click any more: three seconds, or more
 * on a busy machine.
 */
const REFUSALS = 15;
const REFUSED_WITHIN_MS = 60_000;

/**
 * Many clients follow a link at once, until they are stopped, and count how often it led them on.
 */
function storm(
  alias: string,
  redirectors: readonly Redirector[],
  others: readonly Pick<Redirector, "describe">[] = [],
): Storm {
  const origins = () => redirectors.map(({ url }) => url());
  let stopped = false;
  /** How often each server gave each other status; undefined for none. */
  const otherStatuses = new Map<string, number>();
  const client = async (i: number) => {
    for (let n = i; !stopped; n++) {
      const all = origins();
      const response = await links
        .follow(alias, {}, all[n % all.length] ?? "")
        .catch(() => undefined);
      if (response === undefined) result.failed++;
      if (response?.status === 302) result.led++;
      else if (response?.status === 410) {
        result.refused++;
        await Bun.sleep(REACHED_PAUSE_MS);
      } else {
        const got = `${all[n % all.length]}: ${response?.status}`;
        otherStatuses.set(got, (otherStatuses.get(got) ?? 0) + 1);
        await Bun.sleep(BUSY_PAUSE_MS);
      }
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, i) => client(i));
  const result: Storm = {
    led: 0,
    refused: 0,
    failed: 0,
    async untilLed(count) {
      try {
        await eventually(async () => expect(result.led).toBeGreaterThanOrEqual(count), RECOVERY_MS);
      } catch (cause) {
        const counts = JSON.stringify({ ...result, otherStatuses: [...otherStatuses] });
        const says = await Promise.all(
          [...redirectors, ...others].map((process) => process.describe()),
        );
        throw new Error([counts, ...says].join("\n"), { cause });
      }
    },
    async untilRefused() {
      const enough = result.refused + REFUSALS * CLIENTS;
      await eventually(
        async () => expect(result.refused).toBeGreaterThanOrEqual(enough),
        REFUSED_WITHIN_MS,
      );
    },
    async stop() {
      stopped = true;
      await Promise.all(clients);
    },
  };
  return result;
}

describe("many redirectors and clients", () => {
  let fleet: Awaited<ReturnType<typeof createFleet>>;
  beforeAll(async () => {
    fleet = await createFleet(4);
  });
  afterAll(async () => await fleet[Symbol.asyncDispose]());

  test.each([1, 10, 1_000])(
    "a limit of %i leads on so often, not once more, while redirectors are killed",
    async (max) => {
      const { redirectors } = fleet;
      const { id, alias } = await links.create({ max_clicks: max });
      const clients = storm(alias, redirectors);
      for (const victim of redirectors.slice(0, 3)) {
        await Bun.sleep(300);
        await victim.kill();
      }
      // What killed redirectors had leased comes back as soon as they run again.
      await eventually(
        async () => expect(clients.led + clients.failed).toBeGreaterThanOrEqual(max),
        RECOVERY_MS,
      );
      await eventually(
        async () => expect((await links.read(id))["status"]).toBe("limit_reached"),
        RECOVERY_MS,
      );
      await clients.stop();
      expect(clients.led).toBeLessThanOrEqual(max);
      // Only responses that a killed redirector could not send any more are missing.
      expect(clients.led).toBeGreaterThanOrEqual(max - clients.failed);
      await eventually(
        async () => expect((await links.read(id))["clicks"]).toBeLessThanOrEqual(max),
        RECOVERY_MS,
      );
    },
  );

  test("the last clicks can be had beside a redirector that leased some and is idle", async () => {
    const [idle, other] = fleet.redirectors;
    const { alias } = await links.create({ max_clicks: 20 });
    expect((await links.followSettled(alias, idle?.url())).status).toBe(302);
    const responses = [];
    for (let i = 0; i < 20; i++) responses.push(await links.followSettled(alias, other?.url()));
    expect(responses.map(({ status }) => status)).toEqual([...Array<number>(19).fill(302), 410]);
  });

  test("a limit is raised and lowered while clicks go on", async () => {
    const { id, alias } = await links.create({ max_clicks: 50 });
    const clients = storm(alias, fleet.redirectors);
    await eventually(async () => expect(clients.led).toBe(50), RECOVERY_MS);
    await links.change(id, { max_clicks: 120 });
    await eventually(async () => expect(clients.led).toBe(120), RECOVERY_MS);
    await links.change(id, { max_clicks: 10 });
    await clients.untilRefused();
    expect(clients.led).toBe(120);
    await links.change(id, { max_clicks: 130 });
    await eventually(async () => expect(clients.led).toBe(130), RECOVERY_MS);
    await clients.untilRefused();
    await clients.stop();
    expect(clients.led).toBe(130);
    await eventually(
      async () => expect(await links.read(id)).toMatchObject({ clicks: 130, clicks_left: 0 }),
      RECOVERY_MS,
    );
  });
});

describe("NATS", () => {
  // Another NATS has another database: a links log has one tail.
  let services: SharedStack;
  let other: NewAccount;
  beforeAll(async () => {
    services = await withOwnDatabase(stack, "other_nats");
    other = await createAccount(services, "enterprise", UNLIMITED);
  });

  /** Starts an API process on that database, which ends with the test. */
  async function startOtherApi(
    env: Record<string, string>,
    cleanup: AsyncDisposableStack,
  ): Promise<{ links: OwnLinks; describe(): Promise<string> }> {
    const started = await startApi(services, env);
    cleanup.defer(started.stop);
    return {
      links: new OwnLinks({ ...stack.info(), api_url: started.url }, other),
      describe: () => describeProcess(started),
    };
  }

  test("that lost everything grants no click again", async () => {
    await using nats = await startNats();
    const env = { NATS_URL: nats.url };
    await using cleanup = new AsyncDisposableStack();
    const api = await startOtherApi(env, cleanup);
    const fleet = cleanup.use(await createFleet(3, env));
    const { id, alias } = await api.links.create({ max_clicks: 60 });
    const urls = fleet.redirectors.map(({ url }) => url());
    let led = 0;
    for (let i = 0; i < 45; i++) {
      if ((await links.followSettled(alias, urls[i % 2])).status === 302) led++;
    }
    expect(led).toBe(45);
    await nats.kill();
    await nats.start("lost");
    await eventually(async () => {
      const body = { title: `change ${Math.random()}` };
      const { headers } = await api.links.send(`/v1/links/${id}`, "PATCH", body);
      expect(headers.get("x-propagation")).toBeNull();
    }, RECOVERY_MS);
    // Also through the one that has not used a click.
    const clients = storm(alias, fleet.redirectors);
    await eventually(async () => expect(led + clients.led).toBe(60), RECOVERY_MS);
    await clients.untilRefused();
    await clients.stop();
    expect(led + clients.led).toBe(60);
    expect(await api.links.read(id)).toMatchObject({ status: "limit_reached", clicks_left: 0 });
  });

  test("whose leader is killed grants no click twice", async () => {
    const program = await laterNatsServer();
    if (program === undefined) return;
    await using cluster = await NatsCluster.start(program, { tls: false });
    const env = (user: "api" | "redirector") => ({
      NATS_URL: cluster.url(user),
      NATS_REPLICAS: "3",
    });
    await using cleanup = new AsyncDisposableStack();
    const api = await startOtherApi(env("api"), cleanup);
    const fleet = cleanup.use(await createFleet(2, env("redirector")));
    const max = 3_000;
    const { alias } = await api.links.create({ max_clicks: max });
    const clients = storm(alias, fleet.redirectors, [api]);
    for (let round = 0; round < 2; round++) {
      // None is left if the clients were fast.
      const reached = Math.min(clients.led + 100, max);
      await clients.untilLed(reached);
      const leader = await cluster.leaderOf(LIMITS_STREAM);
      await leader.kill();
      await Bun.sleep(1_000);
      leader.start();
    }
    await clients.untilLed(max);
    await clients.untilRefused();
    await clients.stop();
    expect(clients.led).toBe(max);
  });
});
