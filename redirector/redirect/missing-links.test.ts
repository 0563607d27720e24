/**
 * Goal: who asks for links that this host does not know delays nobody else, and is told when to ask
 * again.
 */
import { expect, test } from "bun:test";

import { LINK, TestRedirector } from "../../test/harness/test-redirector.ts";

const LATER = { status: 503, headers: { "retry-after": "2" } };

/** Asks for aliases that do not exist, each from an address; returns how often each status came. */
async function scan(
  redirector: TestRedirector,
  count: number,
  peerOf: (i: number) => string,
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let i = 0; i < count; i++) {
    const status = await redirector.statusOf(`/none-${i}`, { peer: peerOf(i) });
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** Asks for links whose look-ups wait; returns the function that lets them end. */
function wait(redirector: TestRedirector, count: number, peerOf: (i: number) => string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  redirector.fetchGate = promise;
  const waiting = Array.from({ length: count }, (_, i) =>
    redirector.statusOf(`/waiting-${i}`, { peer: peerOf(i) }),
  );
  return async () => {
    resolve();
    return new Set(await Promise.all(waiting));
  };
}

test("a link that cannot be fetched is 503, not 404", async () => {
  const redirector = new TestRedirector();
  redirector.isBroken = true;
  expect(await redirector.request("/abc")).toMatchObject(LATER);
});

test("a client that requests many aliases that do not exist is rate limited, and no other client", async () => {
  const redirector = new TestRedirector();
  expect(await scan(redirector, 130, () => "203.0.113.1")).toEqual({ 404: 120, 429: 10 });
  expect(await redirector.statusOf("/abc", { peer: "203.0.113.2" })).toBe(302);
  // A cached link needs no lookup.
  expect(await redirector.statusOf("/abc", { peer: "203.0.113.1" })).toBe(302);
});

test("an IPv6 network has one limit for all of its addresses, and a site ten times as much", async () => {
  const redirector = new TestRedirector();
  const network = await scan(redirector, 300, (i) => `2001:db8:0:7::${i.toString(16)}`);
  expect(network[404]).toBe(120);
  const site = await scan(redirector, 1_500, (i) => `2001:db8:1:${i.toString(16)}::1`);
  expect(site[404]).toBe(1_200);
  expect(await redirector.statusOf("/abc", { peer: "2001:db8:2::1" })).toBe(302);
});

test("one network gets no more than its share of the lookups in flight", async () => {
  const redirector = new TestRedirector();
  const own = { peer: "2001:db8::99" };
  const end = wait(redirector, 64, (i) => `2001:db8::${i}`);
  expect(await redirector.statusOf("/one-more", own)).toBe(503);
  const other = redirector.statusOf("/abc", { peer: "2001:db8:1::1" });
  expect(await end()).toEqual(new Set([404]));
  expect(await other).toBe(302);
  expect(await redirector.statusOf("/one-more", own)).toBe(404);
});

test("lookups beyond the limit are 503 with Retry-After, and cached links still redirect", async () => {
  const redirector = new TestRedirector();
  expect(await redirector.statusOf("/abc")).toBe(302);
  const end = wait(redirector, 512, (i) => `203.0.113.${i % 250}`);
  const another = { peer: "198.51.100.1" };
  expect(await redirector.request("/one-more", another)).toMatchObject(LATER);
  expect(await redirector.statusOf("/abc")).toBe(302);
  expect(await end()).toEqual(new Set([404]));
  expect(await redirector.statusOf("/one-more", another)).toBe(404);
});

test("while the process is behind, links that are not in memory are 503 without a look into the store", async () => {
  const redirector = new TestRedirector(LINK, { ...LINK, alias: "stored" });
  expect(await redirector.statusOf("/abc")).toBe(302);
  redirector.isBehind = true;
  for (const path of ["/stored", "/nothing", "/abc+"])
    expect(await redirector.request(path), path).toMatchObject(LATER);
  expect(redirector.fetched).toEqual(["/abc"]);
  expect(await redirector.statusOf("/abc")).toBe(302);
  redirector.isBehind = false;
  expect(await redirector.statusOf("/stored")).toBe(302);
});
