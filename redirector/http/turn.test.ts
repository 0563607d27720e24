/**
 * Goal: clients that pipeline wait for each other, and no network for the number of another's
 * connections.
 */
import { expect, test } from "bun:test";

import { addressGroups } from "../../shared/addresses.ts";
import { type Client, Connection } from "./connection.ts";
import { WaitingConnections } from "./turn.ts";

/**
 * A connection of an address whose next requests have arrived, or not; a proxy's counts for no
 * network.
 */
function connect(peer: string, { waits = true, isProxy = false } = {}): Client {
  const data = new Connection(peer, false, 0);
  data.groups = isProxy ? undefined : addressGroups(peer);
  data.input = waits ? Buffer.from("GET / HTTP/1.1") : undefined;
  // Only the state of the connection is used here.
  return { data } as unknown as Client;
}

/**
 * The peers of connections in the order in which their turns end; each has had its input read then.
 */
function endAll(sockets: readonly Client[]): string[] {
  const ended: string[] = [];
  const waiting = new WaitingConnections((socket) => void ended.push(socket.data.peer));
  for (let more = waiting.finishTurns(sockets); more;) more = waiting.finishTurns([]);
  return ended;
}

const many = (count: number, peer: string, isProxy = false): Client[] =>
  Array.from({ length: count }, () => connect(peer, { isProxy }));

test("one that waits for nothing comes first", () => {
  const sockets = [...many(3, "192.0.2.1"), connect("192.0.2.2", { waits: false })];
  expect(endAll(sockets)[0]).toBe("192.0.2.2");
});

test("networks take turns, however many connections each has", () => {
  const sockets = [...many(100, "192.0.2.1"), ...many(2, "192.0.2.2"), connect("192.0.2.3")];
  const ended = endAll(sockets);
  expect(ended).toHaveLength(103);
  expect(ended.slice(0, 5).toSorted()).toEqual([
    "192.0.2.1",
    "192.0.2.1",
    "192.0.2.2",
    "192.0.2.2",
    "192.0.2.3",
  ]);
});

test("addresses of one IPv6 network are one", () => {
  const sockets = Array.from({ length: 50 }, (_, i) => connect(`2001:db8::${i.toString(16)}`));
  expect(endAll([...sockets, connect("192.0.2.9")]).indexOf("192.0.2.9")).toBe(1);
});

test("connections of a proxy take turns among all, in the order in which they came", () => {
  const sockets = [...many(2, "192.0.2.1", true), connect("192.0.2.2", { isProxy: true })];
  expect(endAll(sockets)).toEqual(["192.0.2.1", "192.0.2.1", "192.0.2.2"]);
});
