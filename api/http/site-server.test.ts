import { expect, test } from "bun:test";

import { freePort } from "../../test/harness/ports.ts";
import { listenOptions } from "./site-server.ts";

const serve = (port: number, shared: boolean) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    ...listenOptions(shared),
    fetch: () => new Response("ok"),
  });

test("only processes that are meant to share a port can", async () => {
  const port = freePort();
  const first = serve(port, true);
  const second = serve(port, true);
  expect(() => serve(port, false)).toThrow();
  await Promise.all([first.stop(true), second.stop(true)]);
  const alone = serve(port, false);
  expect(() => serve(port, false)).toThrow();
  await alone.stop(true);
});
