/**
 * Goal: a name that leads to another address a moment later leads nowhere else. Method: a real DNS
 * server that changes its mind, which the resolver of workers asks; 127.0.0.2 stands for a public
 * address, and 127.0.0.1 for what nobody may reach.
 */
import { expect, test } from "bun:test";
import { createServer } from "node:net";

import { newUuid } from "../../shared/ids.ts";
import { ReceiverRules } from "../../shared/webhooks.ts";
import { Dns } from "../../test/harness/dns.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { leasedWebhook, pendingDelivery } from "../../test/harness/test-webhooks.ts";
import { attempt, Transport } from "./attempt.ts";
import { resolveBy } from "./post.ts";

const PUBLIC = "127.0.0.2";
const PRIVATE = "127.0.0.1";

const RULES = new ReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: [`${PUBLIC}/32`],
  WEBHOOK_PORTS_ALLOWED: ["*"],
});

const dns = await forFile(Dns.start());

/** Listens on one port of every address, and counts connections by the address that they came to. */
async function listen() {
  const connections: Record<string, number> = { [PUBLIC]: 0, [PRIVATE]: 0 };
  const server = createServer((socket) => {
    const address = socket.localAddress ?? "";
    connections[address] = (connections[address] ?? 0) + 1;
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    connections,
    [Symbol.dispose]() {
      server.close();
    },
  };
}

/** Attempts a delivery to a name; the resolver asks the DNS server. */
async function deliverTo(name: string, port: number) {
  const id = newUuid();
  const result = await attempt(new Transport("of this test", RULES, resolveBy([dns.address])), {
    webhook: leasedWebhook({ url: `http://${name}:${port}/` }),
    delivery: pendingDelivery({ eventId: id }),
    event: {
      id,
      type: "link.created",
      mode: "live",
      data: "{}",
      actor: '{"type":"system"}',
      occurred_at: new Date(),
    },
    isProven: false,
    signal: new AbortController().signal,
  });
  if (result === undefined) throw new Error("No attempt was made.");
  return result.outcome;
}

test("the address that was checked is the one that is connected to", async () => {
  using receiver = await listen();
  dns.setAddresses("rebinding.example.com", [PUBLIC], [PRIVATE]);
  const first = await deliverTo("rebinding.example.com", receiver.port);
  expect(first).toMatchObject({ status: "delivered", error: null });
  const second = await deliverTo("rebinding.example.com", receiver.port);
  expect(second).toMatchObject({
    errorCode: "address_not_public",
    error: expect.stringContaining("not public"),
  });
  expect(receiver.connections).toEqual({ [PUBLIC]: 1, [PRIVATE]: 0 });
});

test("a name with a public and a private address is not connected to at all", async () => {
  using receiver = await listen();
  dns.setAddresses("both.example.com", [PUBLIC, PRIVATE]);
  const outcome = await deliverTo("both.example.com", receiver.port);
  expect(outcome.error).toContain("not public");
  expect(receiver.connections).toEqual({ [PUBLIC]: 0, [PRIVATE]: 0 });
});

test("why there was no response has a code: a port without a receiver refuses", async () => {
  dns.setAddresses("closed.example.com", [PUBLIC]);
  const { port, ...receiver } = await listen();
  receiver[Symbol.dispose]();
  expect(await deliverTo("closed.example.com", port)).toMatchObject({
    status: "pending",
    errorCode: "connection_refused",
  });
  expect(await deliverTo("nobody.example.com", port)).toMatchObject({
    errorCode: "host_not_found",
    error: "The host name does not resolve.",
  });
});

test("a name is looked up anew for each delivery, whatever its zone lets resolvers keep", async () => {
  const resolve = resolveBy([dns.address]);
  dns.setAddresses("moving.example.com", ["192.0.2.1"], ["192.0.2.2"]);
  expect(await resolve("moving.example.com")).toEqual(["192.0.2.1"]);
  expect(await resolve("moving.example.com")).toEqual(["192.0.2.2"]);
});
