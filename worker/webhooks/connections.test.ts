import { expect, test } from "bun:test";

import { AddressBusy, Connections } from "./post.ts";

/** Begins work that does not end with connections to an address; returns how many there are. */
async function countOpen(
  connections: Connections,
  addresses: readonly string[],
  isProven: boolean,
) {
  let open = 0;
  const end = Promise.withResolvers<void>();
  const all = Promise.allSettled(
    addresses.map((address) =>
      connections.run(address, isProven, () => {
        open++;
        return end.promise;
      }),
    ),
  );
  return {
    open,
    end: async () => {
      end.resolve();
      return await all;
    },
  };
}

const repeated = (address: string): string[] => Array.from({ length: 200 }, () => address);

test("an address has few connections, and webhooks that work have others than those that may not", async () => {
  const connections = new Connections();
  const unproven = await countOpen(connections, repeated("203.0.113.1"), false);
  expect(unproven.open).toBe(25);
  expect((await countOpen(connections, ["203.0.113.1"], false)).open).toBe(0);
  expect((await countOpen(connections, ["203.0.113.2"], false)).open).toBe(1);
  expect((await countOpen(connections, repeated("203.0.113.1"), true)).open).toBe(50);
  const ended = await unproven.end();
  expect(ended.find(({ status }) => status === "rejected")).toMatchObject({
    reason: expect.any(AddressBusy),
  });
  expect((await countOpen(connections, repeated("203.0.113.1"), false)).open).toBe(25);
});

test("addresses of one IPv6 network are one receiver", async () => {
  const addresses = Array.from({ length: 200 }, (_, i) => `2001:db8::${i.toString(16)}`);
  expect((await countOpen(new Connections(), addresses, false)).open).toBe(25);
});
