import { expect, test } from "bun:test";
import { createServer } from "node:net";

import { choosePorts } from "./ports.ts";

test("a free preferred port is chosen, one in use is replaced and reported", async () => {
  const other = createServer();
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  const address = other.address();
  const used = typeof address === "object" && address !== null ? address.port : 0;
  const { a, b } = await choosePorts({ a: used, b: 0 });
  expect(a.taken).toBe(true);
  expect(a.port).not.toBe(used);
  expect(b.taken).toBe(false);
  await new Promise((done) => other.close(done));
  expect((await choosePorts({ a: used })).a).toEqual({ port: used, taken: false });
});

test("no port is chosen twice", async () => {
  const chosen = await choosePorts({ a: 0, b: 0, c: 0, d: 0 });
  expect(new Set(Object.values(chosen).map(({ port }) => port)).size).toBe(4);
});
