/**
 * Goal: segments that cannot be read or stored do not block other clicks, are reported, and can be
 * restored; and no two redirectors write one journal.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { connect, DiscardPolicy } from "nats";

import { createClient } from "../../clients/typescript/src/index.ts";
import { newUuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin, runQuery } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { readMetric } from "../harness/prometheus.ts";
import { TestJournal } from "../harness/segments.ts";
import { startStack } from "../harness/stack.ts";

/**
 * More segments than a redirector publishes concurrently: endless retries would block all others.
 */
const UNREADABLE = 9;

const stack = await forFile(startStack());

const { api_url, api_key, nats_url } = stack.info();
const { links, analytics } = createClient({ baseUrl: api_url, apiKey: api_key });

const countClicks = async (id: string): Promise<number> =>
  (await analytics.summary(id)).summary.total_clicks;

const journal = ({ metricsUrl }: ExtraProcess, name: string): Promise<number> =>
  readMetric(metricsUrl, `shorthop_redirector_${name}`);

test("clicks flow past unreadable segments, which an operator can list, repair and restore", async () => {
  const link = await links.create({ url: "https://example.com/" });
  const JOURNAL_DIR = mkdtempSync(join(stack.dataDir, "quarantine-"));
  const listSealed = () =>
    readdirSync(JOURNAL_DIR)
      .filter((name) => name.endsWith(".segment"))
      .toSorted();

  // A stream that could lose clicks is not used, so segments stay on disk.
  const nats = await connect(natsLogin(nats_url));
  const { streams } = await nats.jetstreamManager();
  await streams.update("CLICKS", { discard: DiscardPolicy.Old });
  const redirector = await startRedirector(stack, { JOURNAL_DIR });
  const follow = async () =>
    expect((await call(`${redirector.url}/${link.alias}`)).status).toBe(302);
  for (let i = 1; i <= UNREADABLE; i++) {
    await follow();
    await eventually(async () => expect(listSealed()).toHaveLength(i));
  }
  const contents = listSealed().map(
    (name) => [name, readFileSync(join(JOURNAL_DIR, name))] as const,
  );
  for (const [name, bytes] of contents) truncateSync(join(JOURNAL_DIR, name), bytes.length - 1);
  for (let i = 0; i < 3; i++) await follow();
  await streams.update("CLICKS", { discard: DiscardPolicy.New });
  await eventually(async () => expect(await countClicks(link.id)).toBe(3), 20_000);
  for (let i = 0; i < 4; i++) await follow();
  await eventually(async () => expect(await countClicks(link.id)).toBe(7), 20_000);

  await eventually(async () => {
    expect(await journal(redirector, "segments_quarantined_total")).toBe(UNREADABLE);
    expect(await journal(redirector, "quarantined_segments")).toBe(UNREADABLE);
    expect(await journal(redirector, "segments_pending")).toBe(0);
  }, 20_000);
  const listed = await admin<{ file: string; state: string }[]>(stack, ["journal", JOURNAL_DIR]);
  expect(listed.filter(({ state }) => state === "quarantined").map(({ file }) => file)).toEqual(
    contents.map(([name]) => name),
  );

  for (const [name, bytes] of contents) writeFileSync(join(JOURNAL_DIR, "quarantine", name), bytes);
  const restored = await admin<{ restored: boolean }[]>(stack, [
    "journal",
    JOURNAL_DIR,
    "--restore",
  ]);
  expect(restored.map((entry) => entry.restored)).toEqual(contents.map(() => true));
  await redirector.stop();
  const next = await startRedirector(stack, { JOURNAL_DIR });
  await eventually(async () => expect(await countClicks(link.id)).toBe(7 + UNREADABLE), 20_000);
  expect(await journal(next, "quarantined_segments")).toBe(0);
  await next.stop();
  await nats.close();
});

/** A line of `shorthop admin dlq list`. */
type DeadLetter = { sequence: number; segment: string | null; clicks: number; reason: string };

const listDeadLetters = () => admin<DeadLetter[]>(stack, ["dlq", "list"]);

test("dead letters are listed with their reason, counted once when retried, and can be dropped", async () => {
  const nats = await connect(natsLogin(nats_url));
  const client = nats.jetstream();
  await client.publish("clicks.segment", Buffer.from("not a segment"));
  const [garbage] = await eventually(async () => {
    const deadLetters = await listDeadLetters();
    expect(deadLetters).toMatchObject([
      { segment: null, clicks: 0, reason: "not a segment of clicks" },
    ]);
    return deadLetters;
  });
  const linkId = newUuid();
  const { bytes } = new TestJournal(linkId).next(1);
  // Twice, as by a worker that was killed between dead-lettering a segment and acknowledging it.
  for (let i = 0; i < 2; i++) await client.publish("clicks_dlq.segment", bytes);
  expect((await listDeadLetters()).map(({ clicks }) => clicks)).toEqual([0, 1, 1]);
  expect(await admin(stack, ["dlq", "drop", String(garbage?.sequence)])).toEqual({ segments: 1 });
  expect(await admin(stack, ["dlq", "retry"])).toEqual({ segments: 2 });
  expect(await listDeadLetters()).toEqual([]);
  await eventually(async () => {
    const count = `SELECT count() FROM clicks WHERE link_id = '${linkId}'`;
    expect(await runQuery(stack, count)).toBe("1");
  }, 15_000);
  expect(admin(stack, ["dlq", "drop", "999"])).rejects.toThrow("segment");
  await nats.close();
});

test("a redirector does not start on a journal that another one is writing", async () => {
  const JOURNAL_DIR = mkdtempSync(join(stack.dataDir, "locked-"));
  const first = await startRedirector(stack, { JOURNAL_DIR });
  expect(startRedirector(stack, { JOURNAL_DIR })).rejects.toThrow("did not start");
  process.kill(first.pid, "SIGKILL");
  await eventually(async () => {
    const next = await startRedirector(stack, { JOURNAL_DIR });
    await next.stop();
  }, 20_000);
});
