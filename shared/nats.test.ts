/**
 * Goal: any server of a list can be reached with the credentials of the list, or of a file, also by
 * TLS of a private authority.
 */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import * as z from "zod";

import { findFreePort } from "../deploy/local/ports.ts";
import { createCertificates } from "../test/harness/certificates.ts";
import { dirForFile } from "../test/harness/for-file.ts";
import { startOperatorNats } from "../test/harness/nats-operator.ts";
import { startNats } from "../test/harness/nats.ts";
import { ConfigError, loadConfig } from "./env.ts";
import { processLog } from "./log.ts";
import {
  envNatsUrl,
  NatsClient,
  natsLogin,
  probeNats,
  readUserName,
  resolveCredential,
} from "./nats.ts";

const dir = dirForFile("shorthop-nats-");

const schema = z.object({ NATS_URL: envNatsUrl });
const load = (NATS_URL: string) => loadConfig(schema, { NATS_URL });

describe("a list of NATS servers", () => {
  test("has one user for all servers, which later URLs may leave out", () => {
    const { servers, user, pass, inboxPrefix, tls } = natsLogin(
      "tls://api:p%40ss@nats-1:4222, tls://nats-2,tls://api:p%40ss@nats-3:4223",
    );
    expect(servers).toEqual(["nats-1:4222", "nats-2", "nats-3:4223"]);
    expect([user, pass, inboxPrefix]).toEqual(["api", "p@ss", "_INBOX_api"]);
    expect(tls).toEqual({});
  });

  test("may have a comma in its password", () => {
    expect(natsLogin("nats://api:a,b@nats-1,nats://nats-2")).toMatchObject({
      servers: ["nats-1", "nats-2"],
      pass: "a,b",
    });
  });

  test.each([
    ["nats://a:x@nats-1,nats://b:x@nats-2", "same user"],
    ["nats://a:x@nats-1,nats://a:y@nats-2", "same user"],
    ["nats://nats-1,tls://nats-2", "one scheme"],
    ["nats://nats-1,http://nats-2", "nats or tls URL"],
    ["nats-1:4222", "nats or tls URL"],
  ])("is rejected at the start when its URLs contradict each other: %s", (urls, reason) => {
    expect(() => load(urls)).toThrow(ConfigError);
    expect(() => load(urls)).toThrow(reason);
  });

  test("connects when only one of its servers is up", async () => {
    await using server = await startNats();
    const urls = `nats://127.0.0.1:${findFreePort()},nats://127.0.0.1:${findFreePort()},${server.url}`;
    expect(load(urls).NATS_URL).toBe(urls);
    await probeNats(urls)();
    const nats = new NatsClient(urls, "test", processLog("test", "silent"));
    expect((await nats.connection).getServer()).toBe(new URL(server.url).host);
    await nats.close();
  });
});

test("a user of a credentials file uses JetStream, with inboxes of its own", async () => {
  await using server = await startOperatorNats();
  const { url, ca } = server;
  const files = { NATS_CREDS: server.createUser("api"), NATS_CA_FILE: ca };
  await probeNats(url, files)();
  const nats = new NatsClient(url, "test", processLog("test", "silent"), files);
  expect(nats.inboxPrefix).toBe("_INBOX_api");
  expect((await nats.connection).info?.auth_required).toBe(true);
  await nats.close();

  const foreign = createCertificates(dir).ca;
  expect(probeNats(url, { ...files, NATS_CA_FILE: foreign })()).rejects.toThrow();
  expect(probeNats(url, { NATS_CREDS: files.NATS_CREDS })()).rejects.toThrow();
  expect(probeNats(url, { NATS_CA_FILE: ca })()).rejects.toThrow(/authorization/i);
});

test("a user is named by its JWT, and a file without one is rejected at the start", () => {
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
});
