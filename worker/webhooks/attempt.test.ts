import { expect, test } from "bun:test";

import { HOUR_MS } from "../../shared/durations.ts";
import { newUuid } from "../../shared/ids.ts";
import { ReceiverRules } from "../../shared/webhooks.ts";
import { leasedWebhook, pendingDelivery } from "../../test/harness/test-webhooks.ts";
import { attempt, parseRetryAfter, RETRY_DELAYS_MS, retryDelayMs, Transport } from "./attempt.ts";

const RULES = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: ["127.0.0.0/8", "::1"],
  WEBHOOK_PORTS_ALLOWED: ["*"],
});

/** Attempts a delivery to a port of a name that has these addresses. */
async function deliver(port: number, addresses: string[]) {
  const id = newUuid();
  const event = {
    id,
    type: "link.created",
    mode: "live" as const,
    data: "{}",
    actor: '{"type":"system"}',
    occurred_at: new Date(),
  };
  const transport = new Transport("of this test", RULES, () => Promise.resolve(addresses));
  const result = await attempt(transport, {
    webhook: leasedWebhook({ url: `http://hooks.example.com:${port}/` }),
    delivery: pendingDelivery({ eventId: id }),
    event,
    isProven: true,
    signal: new AbortController().signal,
  });
  return result?.outcome;
}

test.each(["127.0.0.1", "::1"])(
  "a receiver that is reached only at %s of its two addresses gets the event",
  async (hostname) => {
    using receiver = Bun.serve({ hostname, port: 0, fetch: () => new Response("ok") });
    const outcome = await deliver(receiver.port ?? 0, ["::1", "127.0.0.1"]);
    expect(outcome).toMatchObject({ status: "delivered", responseBody: "ok" });
  },
);

test("a receiver that refuses at each of its addresses is one failed attempt", async () => {
  const closed = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  await closed.stop(true);
  const outcome = await deliver(closed.port ?? 0, ["::1", "127.0.0.1"]);
  expect(outcome).toMatchObject({ status: "pending", errorCode: "connection_refused" });
});

test("delays are those of the table, up to a fifth longer, and end", () => {
  for (const [index, delayMs] of RETRY_DELAYS_MS.entries()) {
    expect(retryDelayMs(index + 1, undefined, 0)).toBe(delayMs);
    const longest = retryDelayMs(index + 1, undefined, 0.999) ?? 0;
    expect(longest).toBeGreaterThan(Math.min(delayMs * 1.19, 24 * HOUR_MS - 1));
    expect(longest).toBeLessThanOrEqual(Math.min(delayMs * 1.2, 24 * HOUR_MS));
  }
  expect(retryDelayMs(RETRY_DELAYS_MS.length + 1, 1, 0)).toBeUndefined();
});

test("Retry-After prolongs a delay, up to a day, and never shortens it", () => {
  expect(retryDelayMs(1, 60_000, 0)).toBe(60_000);
  expect(retryDelayMs(1, 1, 0)).toBe(5_000);
  expect(retryDelayMs(1, 1_000 * HOUR_MS, 0)).toBe(24 * HOUR_MS);
});

test.each([
  ["120", 120_000],
  ["Thu, 01 Jan 1970 00:02:00 GMT", 60_000],
  ["Wed, 31 Dec 1969 00:00:00 GMT", 0],
  ["soon", undefined],
  ["99999999999999999999", undefined],
  [undefined, undefined],
])("Retry-After %p is %p ms", (value, ms) => {
  expect(parseRetryAfter(value, 60_000)).toBe(ms);
});
