/** Goal: of a segment only the erased clicks change, and nothing of them is left in its bytes. */
import { expect, test } from "bun:test";

import type { Click } from "../../shared/contracts/click-record.ts";
import { decodeSegment } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import { encodeSegment, testClick } from "../../test/harness/segments.ts";
import { replaceClicks } from "./streams.ts";

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
