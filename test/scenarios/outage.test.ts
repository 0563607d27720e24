/**
 * Goal: redirectors survive the failure of everything else, and clicks recorded in the meantime are
 * not lost.
 */
import { describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { connect, DiscardPolicy } from "nats";

import { decodeId, newUuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin, runQuery } from "../harness/admin.ts";
import { call, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { encodeSegment } from "../harness/segments.ts";
import { startStack } from "../harness/stack.ts";

const stack = await forFile(startStack());

const api = (path: string) => `${stack.info().api_url}${path}`;

async function createLink(url: string) {
  const { body } = await call(api("/v1/links"), { key: stack.info().api_key, body: { url } });
  return linkSchema.parse(body);
}

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
    });
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
    });

    const linkId = decodeId("link", link.id) ?? newUuid();
    const click = {
      time: Date.now(),
      linkId,
      accountId: newUuid(),
      mode: "test" as const,
      prefetch: false,
      embedded: false,
      scanned: false,
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
      const count = `SELECT count() FROM clicks WHERE link_id = '${linkId}'`;
      expect(await runQuery(stack, count)).toBe("1");
      const { state } = await (await nats.jetstreamManager()).streams.info("CLICKS");
      expect(state.messages).toBeGreaterThan(0);
    }, 15_000);
    expect(admin(stack, ["dlq", "drop", "999"])).rejects.toThrow("segment");
    await nats.close();
  });
});

describe("a redirector", () => {
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
