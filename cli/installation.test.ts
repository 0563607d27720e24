/**
 * Goal: a command works on the stores of this installation, and an operator whose store cannot be
 * found or reached learns what to do on this host.
 */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { dirForFile } from "../test/harness/for-file.ts";
import { type Env, Installation, parseEnvironment } from "./installation.ts";

const dir = dirForFile("shorthop-etc-");
writeFileSync(join(dir, "api.env"), "DATABASE_URL=postgres://api@db/shorthop\n");
writeFileSync(
  join(dir, "worker.env"),
  "DATABASE_URL=postgres://worker@db/shorthop\nNATS_URL=nats://n\n",
);

const installed = (env: Env = {}): Installation =>
  new Installation({ SHORTHOP_CONFIG_DIR: dir, SHORTHOP_DATA_DIR: join(dir, "none"), ...env });

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
  const files = installed();
  expect([files.has("api"), files.has("redirector")]).toEqual([true, false]);
  expect(files.read("redirector")).toEqual({});
});

test("commands use the environment first, then the installation's files, and never the local stack", async () => {
  expect(await installed({ NATS_URL: "nats://mine" }).findUrl("NATS_URL")).toBe("nats://mine");
  expect(await installed().findUrl("DATABASE_URL")).toBe("postgres://api@db/shorthop");
  expect(await installed().findUrl("NATS_URL")).toBe("nats://n");
  expect(installed().findUrl("CLICKHOUSE_URL")).rejects.toThrow(
    `No api.env or worker.env in ${dir} that this user may read has CLICKHOUSE_URL: run this as root`,
  );
});

test("without an installation, the local stack is to be started", () => {
  const env = { SHORTHOP_CONFIG_DIR: "/nowhere", SHORTHOP_DATA_DIR: "/nowhere" };
  expect(new Installation(env).findUrl("NATS_URL")).rejects.toThrow(
    "Set NATS_URL, or start the local stack (/nowhere/stack.json does not exist).",
  );
});

test("NATS that does not answer is named, without its password", async () => {
  const without = new Installation({ NATS_URL: "nats://operator:secret@127.0.0.1:1" });
  const error = await without.withNats(() => Promise.resolve("")).catch(String);
  expect(error).toContain("NATS at 127.0.0.1:1 cannot be used (CONNECTION_REFUSED): start");
  expect(error).not.toContain("secret");
});
