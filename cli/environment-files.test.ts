import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { findUrl } from "./endpoints.ts";
import { openEnvironmentFiles, parseEnvironment } from "./environment-files.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-etc-"));
  writeFileSync(join(dir, "api.env"), "DATABASE_URL=postgres://api@db/shorthop\n");
  writeFileSync(
    join(dir, "worker.env"),
    "DATABASE_URL=postgres://worker@db/shorthop\nNATS_URL=nats://n\n",
  );
});
afterAll(() => rmSync(dir, { recursive: true }));

test("a file's variables are read as systemd reads them", () => {
  const text = `# a comment
; another
PLAIN=postgres://user:pass=word@host/db
  SPACED = value \t
QUOTED="two words"
SINGLE='it''s'
EMPTY=
HALF="open
not a variable
`;
  expect(parseEnvironment(text)).toEqual({
    PLAIN: "postgres://user:pass=word@host/db",
    SPACED: "value",
    QUOTED: "two words",
    SINGLE: "it''s",
    EMPTY: "",
    HALF: '"open',
  });
});

test("a missing file has no variables", () => {
  const files = openEnvironmentFiles({ SHORTHOP_CONFIG_DIR: dir });
  expect([files.has("api"), files.has("redirector")]).toEqual([true, false]);
  expect(files.read("redirector")).toEqual({});
});

test("commands use the environment first, then the installation's files", async () => {
  const env = { SHORTHOP_CONFIG_DIR: dir, SHORTHOP_DATA_DIR: join(dir, "none") };
  expect(await findUrl({ ...env, NATS_URL: "nats://mine" }, "NATS_URL")).toBe("nats://mine");
  expect(await findUrl(env, "DATABASE_URL")).toBe("postgres://api@db/shorthop");
  expect(await findUrl(env, "NATS_URL")).toBe("nats://n");
  expect(findUrl(env, "CLICKHOUSE_URL")).rejects.toThrow("has CLICKHOUSE_URL: run this as root");
});
