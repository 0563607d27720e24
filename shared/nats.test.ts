/** Goal: any server of a list can be reached with the credentials of the list. */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { startNats } from "../test/harness/nats.ts";
import { freePort } from "../test/harness/ports.ts";
import { ConfigError, loadConfig } from "./env.ts";
import { createLog } from "./log.ts";
import { envNatsUrl, natsLogin, openNats, probeNats } from "./nats.ts";

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
    const urls = `nats://127.0.0.1:${freePort()},nats://127.0.0.1:${freePort()},${server.url}`;
    expect(load(urls).NATS_URL).toBe(urls);
    await probeNats(urls)();
    const nats = openNats({ url: urls, name: "test", log: createLog("test", "silent") });
    expect((await nats.connection).getServer()).toBe(new URL(server.url).host);
    await nats.close();
  });
});
