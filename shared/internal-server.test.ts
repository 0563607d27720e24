import { expect, test } from "bun:test";

import { Registry } from "prom-client";

import { InternalServer } from "./internal-server.ts";

const start = (port: number) =>
  new InternalServer({ host: "127.0.0.1", port }, new Registry(), {
    readiness: () => ({ process: "ok" }),
  });

test("a scrape says which parts are ready and which warn", async () => {
  const server = new InternalServer({ host: "127.0.0.1", port: 0 }, new Registry(), {
    readiness: () => ({ process: "ok", postgres: "unreachable" }),
    warnings: () => Promise.resolve({ disk: "2 MiB left", replicas: undefined }),
  });
  const text = await (await fetch(new URL("/metrics", server.url))).text();
  await server.stop();
  for (const line of [
    'shorthop_ready{part="process"} 1',
    'shorthop_ready{part="postgres"} 0',
    'shorthop_warning{part="disk"} 1',
    'shorthop_warning{part="replicas"} 0',
  ])
    expect(text).toContain(`${line}\n`);
});

test("two processes never share a metrics port, which would mix their metrics", async () => {
  const first = start(0);
  expect(() => start(Number(first.url.port))).toThrow();
  await first.stop();
});
