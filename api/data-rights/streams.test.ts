/** Goal: of a segment only the erased clicks change, and nothing of them is left in its bytes. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Click } from "../../shared/contracts/click-record.ts";
import { decodeSegment } from "../../shared/contracts/click-segment.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  ensureClicksStream,
} from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { flipBit } from "../../test/harness/flip-bit.ts";
import { startNats } from "../../test/harness/nats.ts";
import { encodeSegment, testClick } from "../../test/harness/segments.ts";
import { countInStreams, eraseFromStreams, replaceClicks } from "./streams.ts";

const [erasedAccount, keptAccount] = [newUuid(), newUuid()];
const segmentId = { journalId: newUuid(), segment: 7 };

const clickOf = (accountId: string, i: number): Click =>
  testClick({
    time: 1_900_000_000_000 + i,
    linkId: newUuid(),
    accountId,
    scanned: i % 2 === 0,
    address: `198.51.100.${i}`,
    host: `host-of-${accountId}.example`,
    userAgent: `agent-of-${accountId}`,
    referrer: `https://${accountId}.example/`,
    language: "en",
    query: `utm_source=${accountId}`,
    target: { kind: "rule", id: newUuid() },
  });

const clicks = Array.from({ length: 20 }, (_, i) =>
  clickOf(i % 3 === 0 ? erasedAccount : keptAccount, i),
);
const isErased = ({ accountId }: Click): boolean => accountId === erasedAccount;

test("erased clicks are nobody's, and the others have the places that they had", () => {
  const { bytes: replaced = Buffer.alloc(0), erased } =
    replaceClicks(encodeSegment(segmentId, clicks), isErased) ?? {};
  expect(erased).toBe(clicks.filter(isErased).length);
  const decoded = decodeSegment(replaced);
  expect(decoded).toMatchObject({ ...segmentId, whole: true });
  expect(decoded?.clicks.length).toBe(clicks.length);
  for (const [i, click] of clicks.entries()) {
    const found = decoded?.clicks[i];
    if (!isErased(click)) expect(found).toEqual(click);
    else expect([found?.time, found?.address, found?.userAgent]).toEqual([click.time, "", ""]);
  }
  for (const { accountId, linkId } of clicks.filter(isErased))
    for (const id of [accountId, linkId]) {
      expect(replaced.includes(id)).toBe(false);
      expect(replaced.includes(Buffer.from(id.replaceAll("-", ""), "hex"))).toBe(false);
    }
});

test("a segment without such clicks stays as it is, and so does what is none", () => {
  const others = clicks.filter((click) => !isErased(click));
  expect(replaceClicks(encodeSegment(segmentId, others), isErased)).toBeUndefined();
  expect(replaceClicks(Buffer.from("no segment"), isErased)).toBeUndefined();
});

test("a stream with a segment that cannot be read is not said to have no such clicks", async () => {
  await using server = await startNats();
  const writer = await server.connect();
  await ensureClicksStream(await writer.jetstreamManager(), 1024 ** 2, 1);
  for (const segment of [1, 2, 3])
    await writer
      .jetstream()
      .publish(CLICKS_SUBJECT, encodeSegment({ ...segmentId, segment }, clicks));
  await writer.close();
  const nats = await server.connect();
  expect((await eraseFromStreams(nats, isErased))[CLICKS_STREAM]).toBe(21);
  expect((await countInStreams(nats, isErased))[CLICKS_STREAM]).toBe(0);
  await nats.close();

  await server.kill("SIGTERM");
  const path = server.blockOf(CLICKS_STREAM);
  flipBit(path, readFileSync(path).lastIndexOf(CLICKS_SUBJECT) + 200);
  await server.start("retained");
  const again = await server.connect();
  await eventually(() => again.jetstreamManager());
  for (const reading of [countInStreams(again, isErased), eraseFromStreams(again, isErased)])
    expect(await reading.catch(String)).toContain("1 messages of CLICKS cannot be read");
  await again.close();
});
