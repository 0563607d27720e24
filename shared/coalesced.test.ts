import { expect, test } from "bun:test";

import { Coalesced } from "./coalesced.ts";

/** A function whose calls end when the test wants it, each with its number. */
function createCalls() {
  const calls: PromiseWithResolvers<number>[] = [];
  const call = () => {
    const next = Promise.withResolvers<number>();
    calls.push(next);
    return next.promise;
  };
  const coalesced = new Coalesced(call);
  return { calls, ask: () => coalesced.call() };
}

const soon = () => Bun.sleep(0);

test("whoever asks while a call runs gets the result of the next one, which all of them share", async () => {
  const { calls, ask } = createCalls();
  const first = ask();
  const others = [ask(), ask(), ask()];
  calls[0]?.resolve(1);
  expect(await first).toBe(1);
  await soon();
  expect(calls).toHaveLength(2);
  const late = ask();
  calls[1]?.resolve(2);
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
  await soon();
  calls[2]?.resolve(3);
  expect(await late).toBe(3);
});

test("a call that fails fails for those who waited for it, and the next one begins", async () => {
  const { calls, ask } = createCalls();
  const first = ask();
  const second = ask();
  calls[0]?.reject(new Error("away"));
  expect(first).rejects.toThrow("away");
  await soon();
  calls[1]?.resolve(2);
  expect(await second).toBe(2);
  const third = ask();
  calls[2]?.resolve(3);
  expect(await third).toBe(3);
});
