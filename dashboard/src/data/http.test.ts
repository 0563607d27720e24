/** Goal: an early response is used once, only by the request that it is for, and not later. */
import { afterAll, beforeEach, expect, spyOn, test } from "bun:test";

import { fetchOrUseEarly, forgetEarlyResponses } from "./http.ts";

const ORIGIN = "https://app.example.com";
const EARLY = new Response("early");
const LATE = new Response("late");

const get = (path: string, method = "GET") => fetchOrUseEarly(new URL(path, ORIGIN), { method });

const fetched = spyOn(globalThis, "fetch");

afterAll(() => fetched.mockRestore());
beforeEach(() => {
  fetched.mockClear();
  fetched.mockResolvedValue(LATE);
  globalThis.earlyResponses = new Map([
    ["/a?b=c+d", { response: Promise.resolve(EARLY), at: performance.now() }],
  ]);
});

test("an early response is for the first request of its path", async () => {
  expect(await get("/a?b=c+d")).toBe(EARLY);
  expect(await get("/a?b=c+d")).toBe(LATE);
});

test("other requests are sent", async () => {
  expect(await get("/a?b=other")).toBe(LATE);
  expect(await get("/a")).toBe(LATE);
  expect(await get("/a?b=c+d", "POST")).toBe(LATE);
  expect(fetched).toHaveBeenCalledTimes(3);
  expect(await get("/a?b=c+d")).toBe(EARLY);
});

test("a response that is out of date is not used", async () => {
  globalThis.earlyResponses = new Map([
    ["/a", { response: Promise.resolve(EARLY), at: performance.now() - 16_000 }],
  ]);
  expect(await get("/a")).toBe(LATE);
});

test("those of an ended session are forgotten", async () => {
  forgetEarlyResponses();
  expect(await get("/a?b=c+d")).toBe(LATE);
});

test("without early requests, as in development, requests are sent", async () => {
  globalThis.earlyResponses = undefined;
  expect(await get("/a?b=c+d")).toBe(LATE);
});
