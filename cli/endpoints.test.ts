/** Goal: an operator whose store cannot be found or reached learns what to do on this host. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createWithNats } from "./context.ts";
import { findUrl } from "./endpoints.ts";

test("a URL that an installation's files lack is not looked for in a local stack", async () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-etc-"));
  const env = { SHORTHOP_CONFIG_DIR: dir, SHORTHOP_DATA_DIR: dir };
  expect(findUrl(env, "CLICKHOUSE_URL")).rejects.toThrow(
    `No api.env or worker.env in ${dir} that this user may read has CLICKHOUSE_URL: run this as root`,
  );
  writeFileSync(join(dir, "worker.env"), "CLICKHOUSE_URL=http://clickhouse:8123\n");
  expect(await findUrl(env, "CLICKHOUSE_URL")).toBe("http://clickhouse:8123");
  rmSync(dir, { recursive: true });
});

test("without an installation, the local stack is to be started", () => {
  const env = { SHORTHOP_CONFIG_DIR: "/nowhere", SHORTHOP_DATA_DIR: "/nowhere" };
  expect(findUrl(env, "NATS_URL")).rejects.toThrow(
    "Set NATS_URL, or start the local stack (/nowhere/stack.json does not exist).",
  );
});

test("NATS that does not answer is named, without its password", async () => {
  const env = { NATS_URL: "nats://operator:secret@127.0.0.1:1" };
  const error: unknown = await createWithNats(env)(() => Promise.resolve()).catch(
    (thrown: unknown) => thrown,
  );
  expect(String(error)).toContain("NATS at 127.0.0.1:1 cannot be used (CONNECTION_REFUSED): start");
  expect(String(error)).not.toContain("secret");
});
