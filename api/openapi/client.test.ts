/** Goal: who asks for the client before it is packed is told to ask again, and then gets it. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { createFakeApi } from "../../test/harness/fake-api.ts";
import { dirForFile } from "../../test/harness/for-file.ts";

const folder = dirForFile("shorthop-client-");

test("the client is unavailable while it is packed, as everything else that is, and then there", async () => {
  const clientFile = join(folder, "client.tgz");
  const api = createFakeApi({}, { clientFile });
  const early = await api.send("/client.tgz");
  expect([early.status, early.headers.get("cache-control")]).toEqual([503, "no-store"]);
  expect(Number(early.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(early.body).toMatchObject({
    error: { code: "unavailable", message: "The client is being packed. Try again shortly." },
  });
  writeFileSync(clientFile, "packed");
  const packed = await api.send("/client.tgz");
  expect([packed.status, packed.text]).toEqual([200, "packed"]);
});

test("an API without a dashboard has no client", async () => {
  const api = createFakeApi({}, { clientFile: join(folder, "missing", "client.tgz") });
  expect((await api.send("/client.tgz")).status).toBe(404);
});
