/**
 * Goal: an export waits for its client, costs little while it does, and holds up no other account.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { connect, type Socket } from "node:net";

import type { ClickChunks } from "../../shared/clicks/query.ts";
import { encodeId, newUuid } from "../../shared/ids.ts";
import { inChunks } from "../../test/harness/chunks.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { FakeApi, type FakeKey } from "../../test/harness/fake-api.ts";
import { fakeService } from "../../test/harness/fake-service.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { resolveRange } from "../analytics/period.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import type { LedgerWriter } from "../events/record.ts";
import { ClicksService } from "./service.ts";

// Megabytes are sent, on a machine that may be busy.
setDefaultTimeout(60_000);

const LINK = newUuid();

/** Characters of a line: as many as a real one has. */
const LINE_LENGTH = 450;

/** Some clicks of a link, as ClickHouse returns them. */
function makeLines(rows: number): string {
  const line = JSON.stringify({
    id: `${LINK}.0.0`,
    city: "Köln 🎈",
    time: "2026-01-01T00:00:00.000Z",
    link_id: encodeId("link", LINK),
  });
  return `${line.padEnd(LINE_LENGTH - 1)}\n`.repeat(rows);
}

const unused = (): Promise<never> => Promise.reject(new Error("It is not asked for."));

/**
 * An API with `clicks` clicks in each account. Counts those that were read; statements wait for
 * `gate`.
 */
function startApi({
  clicks = Infinity,
  ...bounds
}: { clicks?: number; stalledMs?: number; confirmedMs?: number } = {}) {
  let read = 0;
  let gate = Promise.resolve();
  const clickhouse: ClickChunks = {
    async chunks({ query_params: params }) {
      const rows = Math.min(Number(params["rows"]), clicks - read);
      read += rows;
      await gate;
      return inChunks(makeLines(rows), 65_536);
    },
  };
  const analytics = fakeService<AnalyticsService>("analytics", {
    selectClicks: () =>
      Promise.resolve({
        clickhouse: { ...clickhouse, query: unused, command: unused },
        where: { condition: "1", params: {} },
        range: { ...resolveRange({ period: "24h" }, 0, Date.now()), rawFrom: 0 },
        link: LINK,
      }),
  });
  const ledger = fakeService<LedgerWriter>("ledger", { record: () => Promise.resolve() });
  const api = new FakeApi({ clicks: new ClicksService(analytics, ledger, bounds) });
  const server = api.listen();
  return {
    addKey: () => api.addKey(),
    port: server.port,
    read: () => read,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
}

type Api = ReturnType<typeof startApi>;

/** Asks for an export, and reads nothing of it once it has begun. */
async function startExport({ port }: Api, { key }: FakeKey): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  socket.write(
    `GET /v1/clicks/export HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => void socket.once("data", () => resolve()));
  return socket.pause();
}

/** The status of another export, which ends at once. */
async function statusOf({ port }: Api, { key }: FakeKey): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/clicks/export`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await response.body?.cancel();
  return response.status;
}

/** Waits until an account's export is accepted. */
const accepted = async (api: Api, key: FakeKey) =>
  await eventually(async () => expect(await statusOf(api, key)).toBe(200));

/** Waits until something has stopped growing for some time; returns it. */
async function settled(value: () => number): Promise<number> {
  for (let last = -1; ;) {
    const now = value();
    if (now === last && now > 0) return now;
    last = now;
    await Bun.sleep(300);
  }
}

longTest(
  "an export that is not read keeps back what ClickHouse has, and only others of its account",
  async () => {
    await using api = startApi();
    const [key, other] = [api.addKey(), api.addKey()];
    const socket = await startExport(api, key);
    // What the connection holds, a part, and one ahead: some tens of MB of an endless export.
    expect((await settled(api.read)) * LINE_LENGTH).toBeLessThan(64 * 1024 ** 2);
    const again = await fetch(`http://127.0.0.1:${api.port}/v1/clicks/export`, {
      headers: { authorization: `Bearer ${key.key}` },
    });
    expect([again.status, again.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await again.json()).toMatchObject({ error: { code: "rate_limited", retry_after: 5 } });
    expect(await statusOf(api, other)).toBe(200);
    socket.destroy();
    await accepted(api, key);
  },
);

test("exports of three accounts are all that run in a process", async () => {
  await using api = startApi();
  const sockets = [];
  for (let i = 0; i < 3; i++) sockets.push(await startExport(api, api.addKey()));
  expect(await statusOf(api, api.addKey())).toBe(503);
  for (const socket of sockets) socket.destroy();
  await accepted(api, api.addKey());
});

longTest("an export of which the client takes nothing for some time breaks off", async () => {
  await using api = startApi({ stalledMs: 300 });
  const key = api.addKey();
  const socket = await startExport(api, key);
  // The client is still connected.
  await accepted(api, key);
  let text = "";
  const ended = new Promise<void>((resolve) => void socket.once("close", resolve));
  socket.on("data", (data: Buffer) => void (text = data.toString("latin1").slice(-10)));
  socket.resume();
  await ended;
  expect(text).not.toEndWith("0\r\n\r\n");
});

longTest("an export that is read slowly goes on, and is whole", async () => {
  const clicks = 60_000;
  await using api = startApi({ clicks, stalledMs: 2_000 });
  const { key } = api.addKey();
  const response = await fetch(`http://127.0.0.1:${api.port}/v1/clicks/export`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    await Bun.sleep(1);
  }
  expect(Buffer.concat(chunks).toString() === makeLines(clicks)).toBe(true);
});

test.each(["GET", "HEAD"])(
  "a client that asks by %s and goes before the first click leaves no export behind",
  async (method) => {
    await using api = startApi({ clicks: 10 });
    const key = api.addKey();
    const release = api.hold();
    const abort = new AbortController();
    const asked = fetch(`http://127.0.0.1:${api.port}/v1/clicks/export`, {
      method,
      headers: { authorization: `Bearer ${key.key}` },
      signal: abort.signal,
    });
    await eventually(async () => expect(await Promise.resolve(api.read())).toBe(10));
    abort.abort();
    expect(await asked.catch(() => "aborted")).toBe("aborted");
    release();
    await accepted(api, key);
  },
);

test("an export that is only asked for by HEAD leaves none behind", async () => {
  await using api = startApi();
  const key = api.addKey();
  const response = await fetch(`http://127.0.0.1:${api.port}/v1/clicks/export`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${key.key}` },
  });
  expect(response.status).toBe(200);
  await accepted(api, key);
});

test("an export breaks off when its key is revoked on the way", async () => {
  await using api = startApi({ confirmedMs: 0 });
  const key = api.addKey();
  const socket = await startExport(api, key);
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  key.state = "revoked";
  socket.resume();
  // An endless export: without the question it would never end.
  await closed;
  const read = api.read();
  await accepted(api, api.addKey());
  expect(api.read() - read).toBeLessThan(1_000_000);
});
