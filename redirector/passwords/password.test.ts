/** Goal: passwords cannot be guessed, and guessing locks nobody else out of a link. */
import { describe, expect, test } from "bun:test";

import type { ByteSlice } from "../../shared/bytes.ts";
import { emptyLink } from "../../shared/links-store/record.ts";
import { PasswordCheck, type PasswordResult } from "./password.ts";

const link = { ...emptyLink(), password_hash: "hash" };

/** Creates a check whose verifications end when the test calls `end`. */
function createManualCheck() {
  const verifying: { password: string; end: () => void }[] = [];
  const check = new PasswordCheck((password) => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    verifying.push({ password, end: () => resolve(password === "right") });
    return promise;
  });
  const attempt = (address: string, password: string) =>
    check.check(link, { address, password, knownVisitor: false });
  return { attempt, verifying };
}

/** Ends verifications as they begin, until all results are there. */
async function endAll(
  verifying: readonly { end: () => void }[],
  results: readonly Promise<PasswordResult>[],
): Promise<PasswordResult[]> {
  const all = Promise.all(results);
  let done = false;
  const completed = all.then(() => (done = true));
  while (!done) {
    for (const { end } of verifying) end();
    await Bun.sleep(0);
  }
  await completed;
  return await all;
}

const createCheck = () => {
  const check = new PasswordCheck(async (password) => password === "right");
  return (address: string, password: string, knownVisitor = false): Promise<PasswordResult> =>
    check.check(link, { address, password, knownVisitor });
};

/** Makes attempts one after the other. */
async function attemptTimes(count: number, attempt: (i: number) => Promise<PasswordResult>) {
  const results: PasswordResult[] = [];
  for (let i = 0; i < count; i++) results.push(await attempt(i));
  return results;
}

describe("wrong attempts", () => {
  test("are limited to ten per minute and network, from whichever of its addresses", async () => {
    for (const addressOf of [() => "203.0.113.1", (i: number) => `2001:db8:0:7::${i}`]) {
      const attempt = createCheck();
      const results = await attemptTimes(12, (i) => attempt(addressOf(i), "wrong"));
      expect(results).toEqual([...Array(10).fill("wrong"), "limited", "limited"]);
      expect(await attempt(addressOf(99), "right")).toBe("limited");
      expect(await attempt("198.51.100.1", "right")).toBe("right");
      expect(await attempt("2001:db8:0:8::1", "right")).toBe("right");
    }
  });

  test("are limited to a hundred per minute and site, from all of its networks", async () => {
    const attempt = createCheck();
    const results = await attemptTimes(150, (i) => attempt(`2001:db8:1:${i}::1`, "wrong"));
    expect(results).toEqual([...Array(100).fill("wrong"), ...Array(50).fill("limited")]);
    expect(await attempt("2001:db8:2::1", "right")).toBe("right");
  });

  test("of very many networks limit the link for all but recent visitors who knew the password", async () => {
    const attempt = createCheck();
    const results = await attemptTimes(1_100, (i) => attempt(`10.0.${i >> 8}.${i & 255}`, "wrong"));
    expect(results.filter((result) => result === "wrong")).toHaveLength(1_000);
    expect(await attempt("203.0.113.1", "right")).toBe("limited");
    expect(await attempt("203.0.113.1", "right", true)).toBe("right");
  });

  test("are the only ones counted: all people who share an address and know the password get in", async () => {
    const attempt = createCheck();
    const results = await attemptTimes(1_100, () => attempt("203.0.113.1", "right"));
    expect(new Set(results)).toEqual(new Set(["right"]));
  });
});

/** Link number `n` as a click's record names it. */
function toIds(n: number): ByteSlice {
  const bytes = Buffer.from(String(n));
  return { bytes, start: 0, end: bytes.length };
}

/** Attempts on many links, of which a network has the passwords. */
function createCountingCheck() {
  let verified = 0;
  const check = new PasswordCheck((password, hash) => {
    verified++;
    return Promise.resolve(password === `of ${hash}`);
  });
  const attempt = (address: string, n: number, password = `of ${n}`) =>
    check.check(
      { ...emptyLink(), ids: toIds(n), password_hash: String(n) },
      { address, password, knownVisitor: false },
    );
  return { attempt, verified: () => verified };
}

describe("verifications", () => {
  test("of a network are limited over all links, also of passwords that it knows", async () => {
    const { attempt, verified } = createCountingCheck();
    const results = await attemptTimes(150, (i) => attempt("203.0.113.1", i));
    expect(results).toEqual([...Array(100).fill("right"), ...Array(50).fill("limited")]);
    expect(verified()).toBe(100);
    expect(await attempt("203.0.113.2", 149)).toBe("right");
    const wrong = await attemptTimes(150, (i) => attempt("203.0.113.3", i, "wrong"));
    expect(wrong.filter((result) => result === "wrong")).toHaveLength(100);
    expect(verified()).toBe(201);
  });

  test("are not needed for what was right before, until the link has another password", async () => {
    const { attempt, verified } = createCountingCheck();
    await attemptTimes(1_000, () => attempt("203.0.113.1", 1));
    await attempt("203.0.113.2", 1);
    expect(verified()).toBe(1);
    expect(await attempt("203.0.113.1", 2, "of 1")).toBe("wrong");
    expect(verified()).toBe(2);
  });
});

test("a password is the same however a device types its accents and blanks (RFC 8265)", async () => {
  const check = new PasswordCheck(async (password) => password === "caf\u00e9 \u1ebf");
  const attempt = (password: string) =>
    check.check(link, { address: "203.0.113.1", password, knownVisitor: false });
  expect(await attempt("cafe\u0301\u00a0e\u0302\u0301")).toBe("right");
  expect(await attempt("cafe \u1ebf")).toBe("wrong");
});

describe("the queue", () => {
  test("admits a first-time visitor before a site that hammers from all its networks", async () => {
    const { attempt, verifying } = createManualCheck();
    const hammering = Array.from({ length: 300 }, (_, i) => attempt(`2001:db8:1:${i}::1`, "wrong"));
    const firstTime = attempt("203.0.113.9", "right");
    await Bun.sleep(0);
    expect(verifying).toHaveLength(2);
    for (const { end } of verifying) end();
    await Promise.all(hammering.slice(0, 2));
    await Bun.sleep(0);
    // The next two are the first of the site in the queue, and the first-time visitor.
    expect(verifying.slice(2).map(({ password }) => password)).toEqual(["wrong", "right"]);
    verifying[3]?.end();
    expect(await firstTime).toBe("right");
    const results = await endAll(verifying, hammering);
    // Two that were verified at once, and the whole queue but for the first-time visitor.
    expect(results.filter((result) => result === "wrong")).toHaveLength(2 + 63);
    expect(results.filter((result) => result === "busy")).toHaveLength(300 - 65);
  });

  test("holds at most two entries of a network, and never exceeds the limit of attempts", async () => {
    const { attempt, verifying } = createManualCheck();
    const results: PasswordResult[] = [];
    for (let round = 0; round < 5; round++) {
      const together = Array.from({ length: 10 }, (_, i) => attempt(`2001:db8::${i}`, "wrong"));
      results.push(...(await endAll(verifying, together)));
    }
    const count = (kind: PasswordResult) => results.filter((result) => result === kind).length;
    // Of ten at once, two are verified and two wait.
    expect(count("busy")).toBe(2 * 6 + 6);
    // One more may have begun when the tenth ended.
    expect(count("wrong")).toBeOneOf([10, 11]);
  });

  test("continues after a verification that throws", async () => {
    const check = new PasswordCheck(() => Promise.reject(new Error("Not a hash.")));
    const attempt = () =>
      check.check(link, { address: "203.0.113.1", password: "x", knownVisitor: false });
    for (let i = 0; i < 5; i++) expect(attempt()).rejects.toThrow("Not a hash.");
    expect(attempt()).rejects.toThrow("Not a hash.");
  });
});
