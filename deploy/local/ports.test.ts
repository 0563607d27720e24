import { expect, test } from "bun:test";
import { createServer } from "node:net";

import { choosePorts, findFreePort } from "./ports.ts";

test("a free preferred port is chosen, one in use is replaced and reported", async () => {
  const other = createServer();
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  const address = other.address();
  const used = typeof address === "object" && address !== null ? address.port : 0;
  const { a, b } = choosePorts({ a: used, b: 0 });
  expect(a.taken).toBe(true);
  expect(a.port).not.toBe(used);
  expect(b.taken).toBe(false);
  await new Promise((done) => other.close(done));
  expect(choosePorts({ a: used }).a).toEqual({ port: used, taken: false });
});

test("a preferred port that another start has chosen is taken before its server listens, until it ends", async () => {
  const port = findFreePort();
  const program = `
    import { choosePorts } from ${JSON.stringify(`${import.meta.dir}/ports.ts`)};
    console.log(choosePorts({ a: ${port} }).a.port);
    await Bun.stdin.text();
  `;
  const starts = await Promise.all(
    [1, 2].map(async () => {
      const child = Bun.spawn([process.execPath, "-e", program], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      const { value } = await child.stdout.getReader().read();
      return { child, port: Number(new TextDecoder().decode(value)) };
    }),
  );
  expect(starts.filter((start) => start.port === port)).toHaveLength(1);
  for (const { child } of starts) await child.stdin.end();
  await Promise.all(starts.map(({ child }) => child.exited));
  expect(choosePorts({ a: port }).a).toEqual({ port, taken: false });
});

test("no port is chosen twice", () => {
  const chosen = choosePorts({ a: 0, b: 0, c: 0, d: 0 });
  expect(new Set(Object.values(chosen).map(({ port }) => port)).size).toBe(4);
});

test("a free port is none of those for outgoing connections, and is found once among processes", async () => {
  const program = `
    import { findFreePort } from ${JSON.stringify(`${import.meta.dir}/ports.ts`)};
    for (let i = 0; i < 200; i++) console.log(findFreePort());
  `;
  const found = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const child = Bun.spawn([process.execPath, "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      return (await new Response(child.stdout).text()).trim().split("\n").map(Number);
    }),
  );
  const ports = [...found.flat(), findFreePort()];
  expect(new Set(ports).size).toBe(601);
  expect(Math.max(...ports)).toBeLessThan(32_768);
});
