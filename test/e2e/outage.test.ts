/** Goal: redirectors outlive everything else, and what they counted meanwhile is not lost. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { connect, DiscardPolicy } from "nats";

import {
  type Click,
  encodePageHeader,
  encodeRawClick,
  RECORD_BYTES_MAX,
  toRawClick,
} from "../../shared/contracts/click-page.ts";
import { decodeId, newUuid } from "../../shared/ids.ts";
import { admin } from "../harness/admin.ts";
import { call, linkAnswer, summaryAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

/** Where nobody listens. */
const NOWHERE = "nats://127.0.0.1:1";

let stack: Stack;
beforeAll(async () => void (stack = await startStack()));
afterAll(async () => await stack[Symbol.asyncDispose]());

const api = (path: string) => `${stack.info().api_url}${path}`;

async function createLink(url: string) {
  const { body } = await call(api("/v1/links"), { key: stack.info().api_key, body: { url } });
  return linkAnswer.parse(body);
}

const ready = async (metricsUrl: string) => (await call(`${metricsUrl}/readyz`)).status;

/** User and password, if NATS asks for them. */
function natsLogin(): { user?: string; pass?: string } {
  const { username, password } = new URL(stack.info().nats_url);
  return username === "" ? {} : { user: username, pass: decodeURIComponent(password) };
}

const journal = () => mkdtempSync(join(stack.dataDir, "outage-"));

describe("the links feed", () => {
  test("that was lost is filled again from the database, and redirectors take it from there", async () => {
    const made = [];
    for (let i = 0; i < 30; i++) made.push(await createLink(`https://example.com/resync-${i}`));
    const [first] = made;
    expect((await call(first?.short_url ?? "")).status).toBe(302);
    const nats = await connect({ servers: new URL(stack.info().nats_url).host, ...natsLogin() });
    await (await nats.jetstreamManager()).streams.delete("LINKS");
    await nats.close();
    // The redirector notices, and forgets what it cannot be sure of any more.
    await eventually(
      async () => expect((await call(first?.short_url ?? "")).status).toBe(404),
      15_000,
    );
    const { queued } = await admin<{ queued: number }>(stack, ["links", "resync"]);
    expect(queued).toBeGreaterThanOrEqual(30);
    for (const { short_url, original_url } of made) {
      await eventually(async () => {
        const { status, headers } = await call(short_url);
        expect([status, headers.get("location")]).toEqual([302, original_url]);
      }, 20_000);
    }
    const fresh = await createLink("https://example.com/after-resync");
    expect((await call(fresh.short_url)).status).toBe(302);
  });
});

describe("the stream of clicks", () => {
  test("is not used while it could lose some, and what was counted meanwhile arrives later", async () => {
    const link = await createLink("https://example.com/unsafe-stream");
    const nats = await connect({ servers: new URL(stack.info().nats_url).host, ...natsLogin() });
    const { streams } = await nats.jetstreamManager();
    await streams.update("CLICKS", { discard: DiscardPolicy.Old });
    const redirector = await startRedirector(stack);
    for (let i = 0; i < 5; i++)
      expect((await call(`${redirector.url}/${link.alias}`)).status).toBe(302);
    await eventually(async () => {
      expect(redirector.output()).toContain("must not be used: it drops old messages");
    }, 10_000);
    const total = async () => {
      const { body } = await call(api(`/v1/analytics/${link.id}`), { key: stack.info().api_key });
      return summaryAnswer.parse(body).summary.total_clicks;
    };
    expect(await total()).toBe(0);
    await streams.update("CLICKS", { discard: DiscardPolicy.New });
    await eventually(async () => expect(await total()).toBe(5), 20_000);
    await nats.close();
    await redirector.stop();
  });
});

/** What `shorthop admin dlq list` prints of a page. */
type Dead = { sequence: number; page: string | null; clicks: number; reason: string };

/** A page of one click, of a journal of its own. */
function pageOf(click: Click): Buffer {
  const record = Buffer.alloc(RECORD_BYTES_MAX);
  const end = encodeRawClick(record, 0, toRawClick(click));
  return Buffer.concat([
    encodePageHeader({ journalId: newUuid(), page: 0 }),
    record.subarray(0, end),
  ]);
}

const listDead = () => admin<Dead[]>(stack, ["dlq", "list"]);

describe("pages that were set aside", () => {
  test("are listed with their reason, counted once when tried again, and can be given up", async () => {
    const link = await createLink("https://example.com/set-aside");
    const nats = await connect({ servers: new URL(stack.info().nats_url).host, ...natsLogin() });
    const client = nats.jetstream();
    await client.publish("clicks.page", Buffer.from("no page at all"));
    const [garbage] = await eventually(async () => {
      const pages = await listDead();
      expect(pages).toMatchObject([{ page: null, clicks: 0, reason: "not a page of clicks" }]);
      return pages;
    }, 10_000);

    const linkId = decodeId("link", link.id) ?? newUuid();
    const page = pageOf({
      time: Date.now(),
      linkId,
      accountId: newUuid(),
      mode: "test",
      prefetch: false,
      privacy: false,
      address: "198.51.100.7",
      host: "localhost",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      referrer: "",
      language: "en",
      query: "",
    });
    // Twice, as a worker would that was killed between setting a page aside and saying so.
    for (let i = 0; i < 2; i++) await client.publish("clicks_dlq.page", page);
    expect((await listDead()).map(({ clicks }) => clicks)).toEqual([0, 1, 1]);
    expect(await admin(stack, ["dlq", "drop", String(garbage?.sequence)])).toEqual({ pages: 1 });
    expect(await admin(stack, ["dlq", "retry"])).toEqual({ pages: 2 });
    expect(await listDead()).toEqual([]);
    await eventually(async () => {
      const rows = await fetch(
        `${stack.info().clickhouse_url}/?query=${encodeURIComponent(`SELECT count() FROM clicks WHERE link_id = '${linkId}'`)}`,
      );
      expect(Number(await rows.text())).toBe(1);
      const { state } = await (await nats.jetstreamManager()).streams.info("CLICKS");
      expect(state.messages).toBeGreaterThan(0);
    }, 15_000);
    expect(admin(stack, ["dlq", "drop", "999"])).rejects.toThrow("page");
    await nats.close();
  });
});

describe("ClickHouse", () => {
  test("that is away costs analytics, and nothing else", async () => {
    const link = await createLink("https://example.com/without-clickhouse");
    const alone = await startApi(stack, { CLICKHOUSE_URL: "http://127.0.0.1:1" });
    const ask = (path: string) => call(`${alone.url}${path}`, { key: stack.info().api_key });
    for (const path of ["", `/${link.id}`, `/${link.id}/geo`, `/${link.id}/devices`]) {
      const { status, body, headers } = await ask(`/v1/analytics${path}`);
      expect([path, status, body]).toMatchObject([path, 503, { error: { code: "unavailable" } }]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await ask("/v1/links")).status).toBe(200);
    expect((await ask(`/v1/links/${link.id}`)).status).toBe(200);
    await alone.stop();
  });
});

describe("a redirector", () => {
  test("that starts without NATS serves what it had, counts it, and catches up later", async () => {
    const JOURNAL_DIR = journal();
    const known = await createLink("https://example.com/known");
    const changed = await createLink("https://example.com/before");
    const first = await startRedirector(stack, { JOURNAL_DIR });
    for (const { alias } of [known, changed]) {
      expect((await call(`${first.url}/${alias}`)).status).toBe(302);
    }
    await first.stop();

    const change = {
      key: stack.info().api_key,
      method: "PATCH",
      body: { url: "https://example.com/after" },
    };
    expect((await call(api(`/v1/links/${changed.id}`), change)).status).toBe(200);
    const cut = await startRedirector(stack, { JOURNAL_DIR, NATS_URL: NOWHERE });
    expect(await ready(cut.metricsUrl)).toBe(503);
    for (let i = 0; i < 20; i++) {
      const { status, headers } = await call(`${cut.url}/${known.alias}`);
      expect([status, headers.get("location")]).toEqual([302, known.original_url]);
    }
    expect((await call(`${cut.url}/never-heard-of`)).status).toBe(503);
    await cut.stop();

    const back = await startRedirector(stack, { JOURNAL_DIR });
    await eventually(async () => expect(await ready(back.metricsUrl)).toBe(200), 10_000);
    const { headers } = await call(`${back.url}/${changed.alias}`);
    expect(headers.get("location")).toBe("https://example.com/after");
    await eventually(async () => {
      const { body } = await call(api(`/v1/analytics/${known.id}`), { key: stack.info().api_key });
      expect(summaryAnswer.parse(body).summary.total_clicks).toBe(21);
    }, 15_000);
    await back.stop();
  });

  test("is refused a journal that another one is writing", async () => {
    const JOURNAL_DIR = journal();
    const first = await startRedirector(stack, { JOURNAL_DIR });
    expect(startRedirector(stack, { JOURNAL_DIR })).rejects.toThrow("did not start");
    process.kill(first.pid, "SIGKILL");
    await eventually(async () => {
      const next = await startRedirector(stack, { JOURNAL_DIR });
      await next.stop();
    }, 20_000);
  });
});
