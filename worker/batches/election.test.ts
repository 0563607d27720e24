/** Goal: a worker takes over from one that has ended, and not from one that is at work. */
import { expect, setDefaultTimeout, test } from "bun:test";

import { waitUntilQuiet } from "./election.ts";
import { RENEWED_MS, renewWhile } from "./renewal.ts";

setDefaultTimeout(60_000);

/** Nobody fetches. */
const readConsumer = async () => ({
  num_waiting: 0,
  delivered: { consumer_seq: 1, stream_seq: 1, last_active: 0 },
});

/** Waits with these ages of the claim, one a poll; returns the number of polls of the age. */
async function countPolls(ages: (number | undefined)[]): Promise<number> {
  let polls = 0;
  await waitUntilQuiet({
    readConsumer,
    readClaimAge: async () => ages[polls++],
    sleep: () => Bun.sleep(10),
    isStopped: () => polls >= ages.length,
    lost: 0,
  });
  return polls;
}

test("nobody takes over from an owner that has renewed its claim, though it does not fetch", async () => {
  expect(await countPolls([0, RENEWED_MS, RENEWED_MS + 1, 0])).toBe(3);
});

test("an empty log is taken over at once", async () => {
  expect(await countPolls([undefined, undefined])).toBe(1);
});

test("a claim is renewed while an owner does something long, and not after", async () => {
  let claims = 0;
  const log = { claim: async () => void claims++ };
  const claim = { epoch: 1, owner: "a" };
  expect(await renewWhile(log, claim, () => Bun.sleep(2_500).then(() => "done"))).toBe("done");
  const renewed = claims;
  expect(renewed).toBeGreaterThan(0);
  await Bun.sleep(2_500);
  expect(claims).toBe(renewed);
});
