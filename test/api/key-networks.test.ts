/**
 * Goal: a key with networks works in them and nowhere else, on every way into the API; and its
 * owner sees who created it, and from where it was used. Whoever finds a key can report it.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { WINDOWS } from "../../shared/budgets.ts";
import { KEY_NETWORKS_MAX } from "../../shared/contracts/key-schemas.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call, codeOf } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(stack, "enterprise", UNLIMITED);
const api = (path: string) => `${stack.info().api_url}${path}`;

const from = (address: string) => ({ headers: { "x-forwarded-for": address } });

const keySchema = z.looseObject({ id: z.string(), key: z.string() });

const create = (networks: unknown, key = account.key, address = "203.0.113.7") =>
  call(api("/v1/keys"), {
    key,
    ...from(address),
    body: { name: "CI", scopes: ["links:read", "keys:write"], allowed_networks: networks },
  });

const createIn = async (...networks: string[]) => keySchema.parse((await create(networks)).body);

const rotate = (rotated: string, by: string, body = {}) =>
  call(api(`/v1/keys/${rotated}/rotate`), { key: by, ...from("203.0.113.1"), body });

const show = async (id: string) => (await call(api(`/v1/keys/${id}`), { key: account.key })).body;

const statusFrom = async (key: string, address: string, path = "/v1/links"): Promise<number> =>
  (await call(api(path), { key, ...from(address) })).status;

describe("a key with networks", () => {
  test.each([
    ["203.0.113.0/24", "203.0.113.255", "203.0.114.0"],
    ["203.0.113.9", "203.0.113.9", "203.0.113.8"],
    ["203.0.113.0/24", "::ffff:203.0.113.1", "::ffff:203.0.112.1"],
    ["203.0.113.0/24", "::ffff:cb00:7101", "::ffff:cb00:7001"],
    ["::ffff:203.0.113.0/120", "203.0.113.1", "203.0.112.1"],
    ["2001:db8:7::/48", "2001:db8:7:1::1", "2001:db8:8::1"],
    ["0.0.0.0/0", "198.51.100.1", "2001:db8::1"],
  ])("%s works from %s and not from %s", async (network, inside, outside) => {
    const { key } = await createIn(network);
    expect([await statusFrom(key, inside), await statusFrom(key, outside)]).toEqual([200, 403]);
    // Also where its networks are not known yet.
    const fresh = await createIn(network);
    expect([await statusFrom(fresh.key, outside), await statusFrom(fresh.key, inside)]).toEqual([
      403, 200,
    ]);
  });

  test("is refused with what to do, and what a client writes of itself does not help", async () => {
    const { key } = await createIn("203.0.113.0/24");
    const refused = await call(api("/v1/links"), {
      key,
      ...from("203.0.113.1, 198.51.100.77"),
    });
    expect(codeOf(refused)).toEqual([403, "forbidden"]);
    expect(JSON.stringify(refused.body)).toContain("network 198.51.100.0/24: use it in one of its");
    expect(JSON.stringify(refused.body)).not.toContain("198.51.100.77");
    const direct = await stack.startApi({ TRUSTED_PROXIES: "" });
    expect((await call(`${direct.url}/v1/links`, { key, ...from("203.0.113.1") })).status).toBe(
      403,
    );
  });

  test("is refused by the other products' APIs, streams and exports as well", async () => {
    const { key } = await createIn("203.0.113.0/24");
    const paths = ["/v4/user", "/v1/events", "/v1/clicks/export", "/v1/limits"];
    for (const address of ["198.51.100.3", "203.0.113.3"]) {
      const refused = await Promise.all(
        paths.map(async (path) =>
          JSON.stringify((await call(api(path), { key, ...from(address) })).body),
        ),
      );
      const elsewhere = refused.map((body) => /does not work from|FORBIDDEN/.test(body));
      expect([address, elsewhere]).toEqual([address, paths.map(() => address.startsWith("198"))]);
    }
  });

  test("creates and rotates only to keys that work within its networks", async () => {
    const { id, key } = await createIn("203.0.113.0/24");
    expect(codeOf(await create(["203.0.113.0/25", "198.51.100.0/24"], key))).toEqual([
      403,
      "forbidden",
    ]);
    expect((await create(["203.0.113.0/25"], key)).body).toMatchObject({
      allowed_networks: ["203.0.113.0/25"],
      created_by: { type: "api_key", id },
    });
    expect((await create([], key)).body).toMatchObject({ allowed_networks: ["203.0.113.0/24"] });
    const wide = await createIn();
    expect((await rotate(wide.id, key)).body).toMatchObject({
      allowed_networks: ["203.0.113.0/24"],
    });
    expect((await rotate(id, account.key)).body).toMatchObject({
      allowed_networks: ["203.0.113.0/24"],
    });
    const other = await createIn("203.0.113.0/24");
    expect(
      (await rotate(other.id, account.key, { allowed_networks: ["2001:db8::/32"] })).body,
    ).toMatchObject({ allowed_networks: ["2001:db8::/32"] });
  });

  test("shows who created it and where it was used last, to its network", async () => {
    const { id, key } = await createIn("203.0.113.0/24");
    await statusFrom(key, "198.51.100.3");
    expect(await show(id)).toMatchObject({
      created_by: { type: "api_key" },
      last_used_at: null,
      last_used_network: null,
    });
    await statusFrom(key, "203.0.113.77");
    expect(await show(id)).toMatchObject({
      last_used_at: expect.any(String),
      last_used_network: "203.0.113.0/24",
    });
  });
});

const report = (body: unknown, address: string) =>
  call(api("/keys/report"), { ...from(address), body });

describe("a report of keys", () => {
  test("needs no key, revokes what works at once, and answers for any other key alike", async () => {
    const { key } = await createIn();
    expect(await statusFrom(key, "203.0.113.1")).toBe(200);
    const reported = await report({ keys: [key] }, "192.0.2.1");
    const unknown = await report({ keys: [`${key.slice(0, -1)}x`] }, "192.0.2.1");
    expect(reported.status).toBe(200);
    expect([unknown.status, unknown.body]).toEqual([200, reported.body]);
    expect(codeOf(await call(api("/v1/links"), { key }))).toEqual([403, "key_revoked"]);
  });

  test.each([
    [{}],
    [{ keys: [] }],
    [{ keys: "sk_live_x" }],
    [{ keys: [1] }],
    [{ keys: ["a".repeat(10_000)] }],
    [{ keys: Array(101).fill("a") }],
    [{ keys: ["a"], url: "https://example.com" }],
    [[]],
  ])("%j is an error and no report", async (body) => {
    expect(codeOf(await report(body, "192.0.2.2"))).toEqual([400, "invalid_request"]);
  });

  test("is limited by the network it comes from", async () => {
    const { limit } = WINDOWS.key_reports;
    const made = Array.from({ length: limit + 1 }, () => report({ keys: ["a"] }, "192.0.2.3"));
    const statuses = (await Promise.all(made)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    expect((await report({ keys: ["a"] }, "192.0.2.4")).status).toBe(200);
  });
});

test("networks are normalized", async () => {
  expect(
    await createIn("203.0.113.9/24", "203.0.113.0/24", "2001:DB8::1/32", "::ffff:1.2.3.4", "::/0"),
  ).toMatchObject({
    allowed_networks: ["203.0.113.0/24", "2001:db8::/32", "1.2.3.4/32", "::/0"],
  });
});

test.each([
  ["no network", ["example.com"], "allowed_networks.0"],
  ["too long a prefix", ["203.0.113.0/24", "203.0.113.0/33"], "allowed_networks.1"],
  ["an empty text", [""], "allowed_networks.0"],
  ["octal digits", ["010.0.0.1"], "allowed_networks.0"],
  ["a statement", ["1.2.3.4'; drop table api_keys"], "allowed_networks.0"],
  ["a long text", ["1".repeat(10_000)], "allowed_networks.0"],
  ["a number", [1], "allowed_networks.0"],
  ["a text in place of a list", "203.0.113.0/24", "allowed_networks"],
  ["too many", Array(KEY_NETWORKS_MAX + 1).fill("203.0.113.0/24"), "allowed_networks"],
])("%s in allowed_networks is a 400 that names it", async (_, networks, param) => {
  const refused = await create(networks);
  expect(codeOf(refused)).toEqual([400, "invalid_request"]);
  expect(JSON.stringify(refused.body)).toContain(param);
});
