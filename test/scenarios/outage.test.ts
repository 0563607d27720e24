/**
 * Goal: redirectors survive the failure of everything else, and clicks recorded in the meantime are
 * not lost.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { connect, DiscardPolicy } from "nats";

import { decodeId, newUuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin } from "../harness/admin.ts";
import { call, callOnce, linkSchema, summarySchema } from "../harness/api.ts";
import { encodeSegment } from "../harness/encode-segment.ts";
import { eventually } from "../harness/eventually.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { canMountDisks, mountDisk, unmountDisk } from "../harness/small-disk.ts";
import { type Stack, startStack } from "../harness/stack.ts";

/** A URL on which no server listens. */
const UNREACHABLE_NATS = "nats://127.0.0.1:1";

let stack: Stack;
beforeAll(async () => void (stack = await startStack()));
afterAll(async () => await stack[Symbol.asyncDispose]());

const api = (path: string) => `${stack.info().api_url}${path}`;

async function createLink(url: string) {
  const { body } = await call(api("/v1/links"), { key: stack.info().api_key, body: { url } });
  return linkSchema.parse(body);
}

const getReadiness = async (metricsUrl: string) => (await callOnce(`${metricsUrl}/readyz`)).status;

const createJournalDir = () => mkdtempSync(join(stack.dataDir, "outage-"));

describe("the clicks stream", () => {
  test("is not used while its configuration could lose clicks, which arrive later instead", async () => {
    const link = await createLink("https://example.com/unsafe-stream");
    const nats = await connect(natsLogin(stack.info().nats_url));
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
      return summarySchema.parse(body).summary.total_clicks;
    };
    expect(await total()).toBe(0);
    await streams.update("CLICKS", { discard: DiscardPolicy.New });
    await eventually(async () => expect(await total()).toBe(5), 20_000);
    await nats.close();
    await redirector.stop();
  });
});

/** A line of `shorthop admin dlq list`. */
type DeadLetter = { sequence: number; segment: string | null; clicks: number; reason: string };

const listDeadLetters = () => admin<DeadLetter[]>(stack, ["dlq", "list"]);

describe("dead-lettered segments", () => {
  test("are listed with their reason, counted once when retried, and can be dropped", async () => {
    const link = await createLink("https://example.com/dead-lettered");
    const nats = await connect(natsLogin(stack.info().nats_url));
    const client = nats.jetstream();
    await client.publish("clicks.segment", Buffer.from("not a segment"));
    const [garbage] = await eventually(async () => {
      const deadLetters = await listDeadLetters();
      expect(deadLetters).toMatchObject([
        { segment: null, clicks: 0, reason: "not a segment of clicks" },
      ]);
      return deadLetters;
    }, 10_000);

    const linkId = decodeId("link", link.id) ?? newUuid();
    const click = {
      time: Date.now(),
      linkId,
      accountId: newUuid(),
      mode: "test" as const,
      prefetch: false,
      embedded: false,
      privacy: false,
      address: "198.51.100.7",
      host: "localhost",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      referrer: "",
      language: "en",
      query: "",
    };
    const segment = encodeSegment({ journalId: newUuid(), segment: 0 }, [click]);
    // Twice, as by a worker that was killed between dead-lettering a segment and acknowledging it.
    for (let i = 0; i < 2; i++) await client.publish("clicks_dlq.segment", segment);
    expect((await listDeadLetters()).map(({ clicks }) => clicks)).toEqual([0, 1, 1]);
    expect(await admin(stack, ["dlq", "drop", String(garbage?.sequence)])).toEqual({ segments: 1 });
    expect(await admin(stack, ["dlq", "retry"])).toEqual({ segments: 2 });
    expect(await listDeadLetters()).toEqual([]);
    await eventually(async () => {
      const rows = await fetch(
        `${stack.info().clickhouse_url}/?query=${encodeURIComponent(`SELECT count() FROM clicks WHERE link_id = '${linkId}'`)}`,
      );
      expect(Number(await rows.text())).toBe(1);
      const { state } = await (await nats.jetstreamManager()).streams.info("CLICKS");
      expect(state.messages).toBeGreaterThan(0);
    }, 15_000);
    expect(admin(stack, ["dlq", "drop", "999"])).rejects.toThrow("segment");
    await nats.close();
  });
});

describe("an outage of ClickHouse", () => {
  test("affects only analytics", async () => {
    const link = await createLink("https://example.com/without-clickhouse");
    const affected = await startApi(stack, { CLICKHOUSE_URL: "http://127.0.0.1:1" });
    const get = (path: string) => callOnce(`${affected.url}${path}`, { key: stack.info().api_key });
    for (const path of ["", `/${link.id}`, `/${link.id}/geo`, `/${link.id}/devices`]) {
      const { status, body, headers } = await get(`/v1/analytics${path}`);
      expect([path, status, body]).toMatchObject([path, 503, { error: { code: "unavailable" } }]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await get("/v1/links")).status).toBe(200);
    expect((await get(`/v1/links/${link.id}`)).status).toBe(200);
    await affected.stop();
  });
});

describe("a redirector", () => {
  test("that starts without NATS serves the links of its host, records clicks, and catches up later", async () => {
    const JOURNAL_DIR = createJournalDir();
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
    const disconnected = await startRedirector(stack, { JOURNAL_DIR, NATS_URL: UNREACHABLE_NATS });
    expect(await getReadiness(disconnected.metricsUrl)).toBe(503);
    for (let i = 0; i < 20; i++) {
      const { status, headers } = await call(`${disconnected.url}/${known.alias}`);
      expect([status, headers.get("location")]).toEqual([302, known.original_url]);
    }
    // Links may have been created since.
    expect((await callOnce(`${disconnected.url}/never-heard-of`)).status).toBe(503);
    await disconnected.stop();

    const reconnected = await startRedirector(stack, { JOURNAL_DIR });
    // With NATS, already its first response has the changes since then.
    const { headers } = await call(`${reconnected.url}/${changed.alias}`);
    expect(headers.get("location")).toBe("https://example.com/after");
    expect(await getReadiness(reconnected.metricsUrl)).toBe(200);
    await eventually(async () => {
      const { body } = await call(api(`/v1/analytics/${known.id}`), { key: stack.info().api_key });
      expect(summarySchema.parse(body).summary.total_clicks).toBe(21);
    }, 15_000);
    await reconnected.stop();
  });

  test.skipIf(!canMountDisks)(
    "that starts on a full disk redirects, and says what is lost",
    async () => {
      const disk = createJournalDir();
      mountDisk(disk, "1m");
      try {
        Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "other")}`, "bs=4k"]);
        const link = await createLink("https://example.com/full-disk");
        const redirector = await startRedirector(stack, { JOURNAL_DIR: join(disk, "journal") });
        const { status, headers } = await call(`${redirector.url}/${link.alias}`);
        expect([status, headers.get("location")]).toEqual([302, link.original_url]);
        const { body } = await callOnce(`${redirector.metricsUrl}/readyz`);
        expect(body).toMatchObject({
          warnings: {
            disk: expect.stringContaining("clicks are lost"),
            links_store: expect.stringContaining("in memory"),
          },
        });
        await redirector.stop();
      } finally {
        unmountDisk(disk);
      }
    },
  );

  test("does not start on a journal that another one is writing", async () => {
    const JOURNAL_DIR = createJournalDir();
    const first = await startRedirector(stack, { JOURNAL_DIR });
    expect(startRedirector(stack, { JOURNAL_DIR })).rejects.toThrow("did not start");
    process.kill(first.pid, "SIGKILL");
    await eventually(async () => {
      const next = await startRedirector(stack, { JOURNAL_DIR });
      await next.stop();
    }, 20_000);
  });
});
