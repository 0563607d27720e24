/**
 * Goal: a limited link never leads on more often than it may, whatever fails, and what is left can
 * be had.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { LIMITS_STREAM } from "../../shared/contracts/streams.ts";
import { createAccount } from "../harness/admin.ts";
import { call, callOnce, errorSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startNatsCluster } from "../harness/nats-cluster.ts";
import { laterNatsServer } from "../harness/nats-versions.ts";
import { startNats } from "../harness/nats.ts";
import { withOwnDatabase } from "../harness/own-database.ts";
import { type ExtraProcess, startApi, startRedirector } from "../harness/processes.ts";
import { type SharedStack, type Stack, startStack } from "../harness/stack.ts";

const UNLIMITED = {
  minute: 1_000_000,
  burst: 1_000_000,
  endpoints: { "POST /v1/links": 1_000_000 },
};

const CLIENTS = 100;

/**
 * How long a client waits after a refusal, as people do: longer where the limit has been reached
 * than while it is busy.
 */
const REACHED_PAUSE_MS = 200;
const BUSY_PAUSE_MS = 20;

const RECOVERY_MS = 15_000;

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

let stack: Stack;
let key: string;

beforeAll(async () => {
  stack = await startStack();
  ({ key } = await createAccount(stack, "enterprise", UNLIMITED));
  // A redirector leases no click in the first seconds after its start.
  const { alias } = await create({ max_clicks: 1 });
  expect((await followSettled(alias)).status).toBe(302);
});
afterAll(async () => await stack[Symbol.asyncDispose]());

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

const linkSchema = z.looseObject({ id: z.string(), alias: z.string() });

type Json = Record<string, unknown>;

/** An API process, and a key of an account on its database. */
type Api = { url: string; key: string };

const stacksApi = (): Api => ({ url: stack.info().api_url, key });

const send = (path: string, method: string, body?: Json, api = stacksApi()) =>
  call(`${api.url}${path}`, { key: api.key, method, ...(body === undefined ? {} : { body }) });

const DESTINATION = "https://example.com/limited";

async function create(body: Json, api?: Api) {
  const response = await send("/v1/links", "POST", { url: DESTINATION, ...body }, api);
  expect([response.status, response.body]).toEqual([201, expect.anything()]);
  return linkSchema.parse(response.body);
}

const read = async (id: string, api?: Api) =>
  linkSchema.parse((await send(`/v1/links/${id}`, "GET", undefined, api)).body);

async function change(id: string, body: Json) {
  const response = await send(`/v1/links/${id}`, "PATCH", body);
  expect([response.status, response.body]).toEqual([200, expect.anything()]);
  return linkSchema.parse(response.body);
}

const BROWSER =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36";
const BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

const follow = (
  alias: string,
  {
    origin = stack.info().short_url,
    ...options
  }: { origin?: string } & Parameters<typeof callOnce>[1] = {},
) => callOnce(`${origin}/${alias}`, options);

/** Follows a link until it does not say any more that it is busy. */
const followSettled = (alias: string, origin?: string) =>
  eventually(async () => {
    const response = await follow(alias, origin === undefined ? {} : { origin });
    expect(response.status).not.toBe(503);
    return response;
  }, RECOVERY_MS);

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
      const response = await follow(alias, { origin: all[n % all.length] ?? "" }).catch(
        () => undefined,
      );
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

describe("settings", () => {
  test("a limit is set, read, changed and switched off, with what is left", async () => {
    const { id } = await create({ max_clicks: 3, limit_counts: "human", confirm: true });
    expect(await read(id)).toMatchObject({
      status: "active",
      max_clicks: 3,
      clicks_left: 3,
      limit_counts: "human",
      confirm: true,
    });
    expect(await change(id, { max_clicks: 5, limit_counts: "all", confirm: false })).toMatchObject({
      max_clicks: 5,
      clicks_left: 5,
    });
    expect(Object.keys(await read(id))).not.toContainAnyValues(["limit_counts", "confirm"]);
    expect(Object.keys(await read(id))).not.toContain("ledger");
    const off = await change(id, { max_clicks: null });
    expect(Object.keys(off)).not.toContainAnyValues(["max_clicks", "clicks_left"]);
    expect(off).toMatchObject({ status: "active" });
  });

  test("many links at once, and links by an external id, take it as well", async () => {
    const created = await send("/v1/links/bulk", "POST", {
      links: [{ url: DESTINATION, max_clicks: 1 }],
    });
    const id = /link_\w+/.exec(JSON.stringify(created.body))?.[0] ?? "";
    expect(await read(id)).toMatchObject({ max_clicks: 1, clicks_left: 1 });
    const updated = await send("/v1/links/bulk", "PATCH", { links: [{ id, max_clicks: 2 }] });
    expect(updated.body).toMatchObject({ data: [{ link: { max_clicks: 2, clicks_left: 2 } }] });
    const upserted = await send(`/v1/links/external/limited`, "PUT", {
      url: DESTINATION,
      max_clicks: 7,
    });
    expect(upserted.body).toMatchObject({ max_clicks: 7, clicks_left: 7, status: "active" });
  });

  test("what is no limit is rejected, and changes nothing", async () => {
    const { id } = await create({ max_clicks: 3 });
    for (const body of [
      { max_clicks: 0 },
      { max_clicks: 1.5 },
      { max_clicks: 1e10 },
      { max_clicks: "3" },
      { limit_counts: "bots" },
      { confirm: "yes" },
      { clicks_left: 3 },
      { ledger: { id, before: 0 } },
    ]) {
      const response = await send(`/v1/links/${id}`, "PATCH", body);
      expect([response.status, errorSchema.parse(response.body).error.code]).toEqual([
        400,
        "invalid_request",
      ]);
    }
    expect(await read(id)).toMatchObject({ max_clicks: 3, clicks_left: 3 });
  });
});

describe("a limited link", () => {
  test("leads on as often as it may, then to its own URL for that, and says so", async () => {
    const { id, alias } = await create({ max_clicks: 2, expired_url: "https://example.com/over" });
    for (let i = 0; i < 2; i++) {
      const response = await followSettled(alias);
      expect([response.status, response.headers.get("location")]).toEqual([302, DESTINATION]);
    }
    const over = await followSettled(alias);
    expect(over.headers.get("location")).toBe("https://example.com/over");
    await eventually(
      async () => expect(await read(id)).toMatchObject({ status: "limit_reached", clicks_left: 0 }),
      RECOVERY_MS,
    );
    await change(id, { expired_url: null });
    await eventually(async () => expect((await follow(alias)).status).toBe(410), RECOVERY_MS);
    // It reopens when the limit is raised, and has no limit without one.
    await change(id, { max_clicks: 3 });
    await eventually(async () => expect((await follow(alias)).status).toBe(302), RECOVERY_MS);
    await eventually(async () => expect((await follow(alias)).status).toBe(410), RECOVERY_MS);
    await change(id, { max_clicks: null });
    await eventually(async () => expect((await follow(alias)).status).toBe(302), RECOVERY_MS);
  });

  test("gives its destination to no HEAD, and spends nothing by one", async () => {
    const { id, alias } = await create({ max_clicks: 1 });
    for (let i = 0; i < 5; i++) {
      const head = await follow(alias, { method: "HEAD" });
      expect([head.status, head.headers.get("location")]).toEqual([200, null]);
      expect(head.headers.get("cache-control")).toBe("private, no-store");
    }
    expect(await read(id)).toMatchObject({ clicks_left: 1 });
    expect((await followSettled(alias)).status).toBe(302);
    await eventually(
      async () => expect((await follow(alias, { method: "HEAD" })).status).toBe(410),
      RECOVERY_MS,
    );
  });

  test("for people leads no bot on, whatever it says it is, unless it spends a click", async () => {
    const { id, alias } = await create({ max_clicks: 2, limit_counts: "human" });
    for (const userAgent of [BOT, "Slackbot-LinkExpanding 1.0", "Microsoft Office Word 2014"]) {
      const response = await follow(alias, { headers: { "user-agent": userAgent } });
      expect([response.status, response.headers.get("location")]).toEqual([200, null]);
    }
    const prefetch = { "user-agent": BROWSER, "sec-purpose": "prefetch" };
    expect((await follow(alias, { headers: prefetch })).status).toBe(200);
    expect(await read(id)).toMatchObject({ clicks_left: 2 });
    // Who only says to be a bot presses the button, and spends a click as everybody.
    const pressed = await follow(alias, {
      method: "POST",
      body: "confirm=yes",
      headers: { "user-agent": BOT, "content-type": "application/x-www-form-urlencoded" },
    });
    expect([pressed.status, pressed.headers.get("location")]).toEqual([302, DESTINATION]);
    const person = await eventually(async () => {
      const response = await follow(alias, { headers: { "user-agent": BROWSER } });
      expect(response.status).toBe(302);
      return response;
    }, RECOVERY_MS);
    expect(person.headers.get("location")).toBe(DESTINATION);
    await eventually(
      async () =>
        expect((await follow(alias, { headers: { "user-agent": BOT } })).status).toBe(410),
      RECOVERY_MS,
    );
  });
});

/** Presses the button of the confirmation. */
const press = (alias: string, body = "confirm=yes", headers: Record<string, string> = {}) =>
  follow(alias, {
    method: "POST",
    body,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
  });

describe("the confirmation", () => {
  test("comes before the destination, and only its button spends and counts a click", async () => {
    const { id, alias } = await create({ max_clicks: 1, confirm: true });
    for (const userAgent of [BROWSER, BOT]) {
      const page = await follow(alias, { headers: { "user-agent": userAgent } });
      expect([page.status, page.headers.get("location")]).toEqual([200, null]);
      expect(String(page.body)).toContain('<form method="post">');
      expect(String(page.body)).not.toContain(DESTINATION);
      expect(page.headers.get("cache-control")).toBe("private, no-store");
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
    // Nothing else than the button does.
    for (const [body, type] of [
      ["", "application/x-www-form-urlencoded"],
      ["confirm=no", "application/x-www-form-urlencoded"],
      ["confirm=yes", "text/plain"],
    ] as const)
      expect((await press(alias, body, { "content-type": type })).status).toBe(200);
    expect(await read(id)).toMatchObject({ clicks_left: 1, clicks: 0 });
    const pressed = await press(alias, undefined, { "user-agent": BROWSER });
    expect([pressed.status, pressed.headers.get("location")]).toEqual([302, DESTINATION]);
    await eventually(async () => expect((await press(alias)).status).toBe(410), RECOVERY_MS);
    await eventually(async () => expect((await read(id))["clicks"]).toBe(1), RECOVERY_MS);
  });

  test("works without a limit, and a right password confirms as well", async () => {
    const { alias } = await create({ confirm: true });
    expect((await follow(alias)).status).toBe(200);
    expect((await press(alias)).status).toBe(302);
    const secret = await create({ confirm: true, max_clicks: 2, password: "open sesame" });
    expect((await follow(secret.alias)).status).toBe(401);
    expect((await press(secret.alias)).status).toBe(401);
    const entered = await press(secret.alias, "password=open+sesame");
    expect([entered.status, entered.headers.get("location")]).toEqual([302, DESTINATION]);
    // Who comes back with the cookie gets the button.
    const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
    const page = await follow(secret.alias, { headers: { cookie } });
    expect([page.status, page.headers.get("location")]).toEqual([200, null]);
    await eventually(
      async () => expect((await press(secret.alias, undefined, { cookie })).status).toBe(302),
      RECOVERY_MS,
    );
    await eventually(
      async () => expect((await follow(secret.alias)).status).toBe(410),
      RECOVERY_MS,
    );
  });
});

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
      const { id, alias } = await create({ max_clicks: max });
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
        async () => expect((await read(id))["status"]).toBe("limit_reached"),
        RECOVERY_MS,
      );
      await clients.stop();
      expect(clients.led).toBeLessThanOrEqual(max);
      // Only responses that a killed redirector could not send any more are missing.
      expect(clients.led).toBeGreaterThanOrEqual(max - clients.failed);
      await eventually(
        async () => expect((await read(id))["clicks"]).toBeLessThanOrEqual(max),
        RECOVERY_MS,
      );
    },
    240_000,
  );

  test("the last clicks can be had beside a redirector that leased some and is idle", async () => {
    const [idle, other] = fleet.redirectors;
    const { alias } = await create({ max_clicks: 20 });
    expect((await followSettled(alias, idle?.url())).status).toBe(302);
    const responses = [];
    for (let i = 0; i < 20; i++) responses.push(await followSettled(alias, other?.url()));
    expect(responses.map(({ status }) => status)).toEqual([...Array<number>(19).fill(302), 410]);
  }, 120_000);

  test("a crash does not lose the only click of a one-time link", async () => {
    const [crashing, other] = fleet.redirectors;
    for (let round = 0; round < 5; round++) {
      const { alias } = await create({ max_clicks: 1 });
      const asked = follow(alias, { origin: crashing?.url() ?? "" }).catch(() => undefined);
      await Bun.sleep(Math.random() * 20);
      await crashing?.kill();
      const led = (await asked)?.status === 302;
      const response = await followSettled(alias, other?.url());
      // Either it was given, perhaps to a visitor whose connection then broke, or it is there.
      if (led) expect(response.status).toBe(410);
      else expect([302, 410]).toContain(response.status);
      expect((await followSettled(alias, other?.url())).status).toBe(410);
    }
  }, 240_000);

  test("a limit is raised and lowered while clicks go on", async () => {
    const { id, alias } = await create({ max_clicks: 50 });
    const clients = storm(alias, fleet.redirectors);
    await eventually(async () => expect(clients.led).toBe(50), RECOVERY_MS);
    await change(id, { max_clicks: 120 });
    await eventually(async () => expect(clients.led).toBe(120), RECOVERY_MS);
    await change(id, { max_clicks: 10 });
    await clients.untilRefused();
    expect(clients.led).toBe(120);
    await change(id, { max_clicks: 130 });
    await eventually(async () => expect(clients.led).toBe(130), RECOVERY_MS);
    await clients.untilRefused();
    await clients.stop();
    expect(clients.led).toBe(130);
    await eventually(
      async () => expect(await read(id)).toMatchObject({ clicks: 130, clicks_left: 0 }),
      RECOVERY_MS,
    );
  }, 240_000);
});

describe("NATS", () => {
  // Another NATS has another database: two feeds cannot follow one.
  let services: SharedStack;
  let otherKey: string;
  beforeAll(async () => {
    services = await withOwnDatabase(stack, "other_nats");
    ({ key: otherKey } = await createAccount(services, "enterprise", UNLIMITED));
  });

  /** Starts an API process on that database, which ends with the test. */
  async function startOtherApi(
    env: Record<string, string>,
    cleanup: AsyncDisposableStack,
  ): Promise<Api & Pick<Redirector, "describe">> {
    const started = await startApi(services, env);
    cleanup.defer(started.stop);
    return { url: started.url, key: otherKey, describe: () => describeProcess(started) };
  }

  test("that lost everything grants no click again", async () => {
    await using nats = await startNats();
    const env = { NATS_URL: nats.url };
    await using cleanup = new AsyncDisposableStack();
    const api = await startOtherApi(env, cleanup);
    const fleet = cleanup.use(await createFleet(3, env));
    const { id, alias } = await create({ max_clicks: 60 }, api);
    const urls = fleet.redirectors.map(({ url }) => url());
    let led = 0;
    for (let i = 0; i < 45; i++) {
      if ((await followSettled(alias, urls[i % 2])).status === 302) led++;
    }
    expect(led).toBe(45);
    await nats.kill();
    await nats.start("lost");
    await eventually(async () => {
      const body = { title: `resync ${Math.random()}` };
      const { headers } = await send(`/v1/links/${id}`, "PATCH", body, api);
      expect(headers.get("x-propagation")).toBeNull();
    }, RECOVERY_MS);
    // Also through the one that has not used a click.
    const clients = storm(alias, fleet.redirectors);
    await eventually(async () => expect(led + clients.led).toBe(60), RECOVERY_MS);
    await clients.untilRefused();
    await clients.stop();
    expect(led + clients.led).toBe(60);
    expect(await read(id, api)).toMatchObject({ status: "limit_reached", clicks_left: 0 });
  }, 240_000);

  test("whose leader is killed grants no click twice", async () => {
    const program = await laterNatsServer();
    if (program === undefined) return;
    await using cluster = await startNatsCluster(program, { tls: false });
    const env = (user: "api" | "redirector") => ({
      NATS_URL: cluster.url(user),
      NATS_REPLICAS: "3",
    });
    await using cleanup = new AsyncDisposableStack();
    const api = await startOtherApi(env("api"), cleanup);
    const fleet = cleanup.use(await createFleet(2, env("redirector")));
    const max = 3_000;
    const { alias } = await create({ max_clicks: max }, api);
    const clients = storm(alias, fleet.redirectors, [api]);
    for (let round = 0; round < 2; round++) {
      // None is left if the clients were fast.
      const reached = Math.min(clients.led + 100, max);
      await clients.untilLed(reached);
      const leader = await eventually(async () => {
        const found = await cluster.leaderOf(LIMITS_STREAM);
        if (found === undefined) throw new Error("There is no leader.");
        return found;
      }, RECOVERY_MS);
      await leader.kill();
      await Bun.sleep(1_000);
      leader.start();
    }
    await clients.untilLed(max);
    await clients.untilRefused();
    await clients.stop();
    expect(clients.led).toBe(max);
  }, 300_000);
});
