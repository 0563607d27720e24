/** Goal: a server that demands a credentials file and TLS of a private authority can be used. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

import { createCertificates } from "../test/harness/certificates.ts";
import { startOperatorNats } from "../test/harness/nats-operator.ts";
import { createLog } from "./log.ts";
import { readUserName, resolveCredential } from "./nats-files.ts";
import { natsLogin, openNats, probeNats } from "./nats.ts";

test("a user of a credentials file uses JetStream, with inboxes of its own", async () => {
  await using server = await startOperatorNats();
  const { url, ca } = server;
  const files = { NATS_CREDS: server.createUser("api"), NATS_CA_FILE: ca };
  await probeNats(url, files)();
  const nats = openNats({ url, files, name: "test", log: createLog("test", "silent") });
  expect(nats.inboxPrefix).toBe("_INBOX_api");
  expect((await nats.connection).info?.auth_required).toBe(true);
  await nats.close();

  const other = mkdtempSync(join(tmpdir(), "shorthop-ca-"));
  const foreign = createCertificates(other).ca;
  expect(probeNats(url, { ...files, NATS_CA_FILE: foreign })()).rejects.toThrow();
  expect(probeNats(url, { NATS_CREDS: files.NATS_CREDS })()).rejects.toThrow();
  expect(probeNats(url, { NATS_CA_FILE: ca })()).rejects.toThrow(/authorization/i);
  rmSync(other, { recursive: true });
});

test("a user is named by its JWT, and a file without one is rejected at the start", () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-creds-"));
  const path = join(dir, "api.creds");
  writeFileSync(path, "-----BEGIN NATS USER JWT-----\nnone\n------END NATS USER JWT------\n");
  expect(() => natsLogin("tls://nats", { NATS_CREDS: path })).toThrow("has no JWT of a user");
  expect(() => natsLogin("tls://nats", { NATS_CREDS: join(dir, "none") })).toThrow("ENOENT");
  const payload = Buffer.from(JSON.stringify({ name: "worker" })).toString("base64url");
  expect(readUserName(`-----BEGIN-----\nhead.${payload}.signature\n`)).toBe("worker");
  // systemd passes a file that only root can read in a directory of the unit.
  const passed = resolveCredential(`/etc/shorthop/${basename(path)}`, dirname(path));
  expect(passed).toBe(path);
  expect(resolveCredential("/etc/shorthop/other.creds", dir)).toBe("/etc/shorthop/other.creds");
  expect(resolveCredential(path, undefined)).toBe(path);
  rmSync(dir, { recursive: true });
});
