/** Goal: unreadable segments do not block other clicks, are reported, and can be restored. */
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { connect, DiscardPolicy } from "nats";

import { natsLogin } from "../../shared/nats.ts";
import { admin } from "../harness/admin.ts";
import { call, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { readMetric } from "../harness/prometheus.ts";
import { startStack } from "../harness/stack.ts";

/**
 * More segments than a redirector publishes concurrently: endless retries would block all others.
 */
const UNREADABLE = 9;

const stack = await forFile(startStack());

const countClicks = async (id: string): Promise<number> => {
  const { api_url, api_key: key } = stack.info();
  const { body } = await call(`${api_url}/v1/analytics/${id}`, { key });
  return summarySchema.parse(body).summary.total_clicks;
};

const journal = ({ metricsUrl }: ExtraProcess, name: string): Promise<number> =>
  readMetric(metricsUrl, `shorthop_redirector_${name}`);

test("clicks flow past unreadable segments, which an operator can list, repair and restore", async () => {
  const { api_url, api_key: key, nats_url } = stack.info();
  const created = await call(`${api_url}/v1/links`, { key, body: { url: "https://example.com/" } });
  const link = linkSchema.parse(created.body);
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
