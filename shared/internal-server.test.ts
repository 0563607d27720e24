import { expect, test } from "bun:test";

import { Registry } from "prom-client";

import { startInternalServer } from "./internal-server.ts";

const start = (port: number) =>
  startInternalServer({
    host: "127.0.0.1",
    port,
    registry: new Registry(),
    health: { readiness: () => ({ process: "ok" }) },
  });

test("two processes never share a metrics port, which would mix their metrics", async () => {
  const first = start(0);
  expect(() => start(Number(first.url.port))).toThrow();
  await first.stop();
});
