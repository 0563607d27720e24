import { expect, test } from "bun:test";

import { CoalescedCalls } from "./coalesced-calls.ts";

/** A store whose value changes, and whose reads end when the test says so. */
function createStore() {
  let value = 0;
  const reads: { key: string; finish: (error?: Error) => Promise<void> }[] = [];
  const calls = new CoalescedCalls<number>();
  const ask = (key = "a") =>
    calls.run(key, () => {
      const seen = value;
      return new Promise<number>((resolve, reject) => {
        reads.push({
          key,
          async finish(error) {
            if (error === undefined) resolve(seen);
            else reject(error);
            await Bun.sleep(0);
          },
        });
      });
    });
  return { ask, reads, change: () => void value++ };
}

test("those who ask while a read is in flight share the next one, which sees what changed before", async () => {
  const { ask, reads, change } = createStore();
  const first = ask();
  change();
  const later = [ask(), ask(), ask()];
  expect(reads).toHaveLength(1);
  await reads[0]?.finish();
  expect(await first).toBe(0);
  expect(reads).toHaveLength(2);
  await reads[1]?.finish();
  expect(await Promise.all(later)).toEqual([1, 1, 1]);
});

test("different keys do not wait for each other", () => {
  const { ask, reads } = createStore();
  void ask("a");
  void ask("b");
  expect(reads.map(({ key }) => key)).toEqual(["a", "b"]);
});

test("a read that fails fails for those who share it, and the next one is tried", async () => {
  const { ask, reads } = createStore();
  const first = ask();
  const second = ask();
  const failure = first.catch((error: Error) => error.message);
  await reads[0]?.finish(new Error("away"));
  expect(await failure).toBe("away");
  await reads[1]?.finish();
  expect(await second).toBe(0);
  const third = ask();
  expect(reads).toHaveLength(3);
  await reads[2]?.finish();
  expect(await third).toBe(0);
});
