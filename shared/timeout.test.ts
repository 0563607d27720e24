import { expect, test } from "bun:test";

import { TimeoutError, withTimeout } from "./timeout.ts";

test("work that finishes in time has its own result or error", async () => {
  expect(await withTimeout(Promise.resolve(7), 60_000)).toBe(7);
  const failed = new Error("failed");
  expect(await withTimeout(Promise.reject(failed), 60_000).catch((error: unknown) => error)).toBe(
    failed,
  );
});

test("work that never finishes is given up, with the error of the caller where there is one", async () => {
  const never = new Promise<never>(() => undefined);
  const late = await withTimeout(never, 5).catch((error: unknown) => error);
  expect(late).toBeInstanceOf(TimeoutError);
  expect(String(late)).toContain("5 ms");
  const own = new Error("PostgreSQL is late");
  expect(await withTimeout(never, 5, () => own).catch((error: unknown) => error)).toBe(own);
});

test("an error after the timeout is not an unhandled rejection", async () => {
  const work = Promise.withResolvers<never>();
  const late = await withTimeout(work.promise, 5).catch((error: unknown) => error);
  work.reject(new Error("too late"));
  await Bun.sleep(1);
  expect(late).toBeInstanceOf(TimeoutError);
});
