/**
 * Goal: `/v1/keys` validates, authorizes and returns API keys as specified, whatever stores them.
 */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import {
  createFakeApi,
  errorCodeOf,
  type FakeApi,
  type FakeKey,
} from "../../test/harness/fake-api.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { KeyRow } from "./model.ts";
import type { KeyService } from "./service.ts";

let api: FakeApi;
let key: FakeKey;
let rows: Map<Uuid, KeyRow>;
let graces: number[];

const get: KeyService["get"] = async ({ accountId, mode }, id) => {
  const row = id === undefined ? undefined : rows.get(id);
  if (row?.account_id !== accountId || row.mode !== mode) throw notFound("key");
  return row;
};
const createRow: KeyService["create"] = async ({ accountId, mode, scopes: own }, body) => {
  if (body.scopes.some((scope) => !own.includes(scope)))
    throw new ApiError("forbidden", "A key can only grant scopes it has.");
  const row: KeyRow = {
    id: newUuid(),
    account_id: accountId,
    name: body.name,
    mode,
    prefix: "sk_live_1234",
    scopes: [...body.scopes],
    created_at: new Date(),
    last_used_at: null,
    expires_at: null,
    revoked_at: null,
  };
  rows.set(row.id, row);
  return { row, key: `sk_live_value_${rows.size}` };
};

beforeAll(() => {
  api = createFakeApi({
    keys: {
      get,
      create: createRow,
      async list({ accountId }) {
        const own = [...rows.values()].filter((row) => row.account_id === accountId);
        return { rows: own, total: own.length, next: null };
      },
      async revoke(owner, id) {
        (await get(owner, id)).revoked_at = new Date();
      },
      async rotate(owner, id, graceSeconds) {
        const { name } = await get(owner, id);
        graces.push(graceSeconds);
        return await createRow(owner, { name, scopes: [] });
      },
    },
  });
});
beforeEach(() => {
  rows = new Map();
  graces = [];
  key = api.addKey();
});

const create = (body: unknown = { name: "CI", scopes: ["links:read"] }, caller = key) =>
  api.send("/v1/keys", { key: caller, body });

async function createdId(): Promise<string> {
  return ((await create()).body as { id: string }).id;
}

describe("POST /v1/keys", () => {
  test("creates a key, whose value only this response contains", async () => {
    const { status, body } = await create();
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: "CI", type: "live", key: "sk_live_value_1" });
    const { id } = body as { id: string };
    for (const path of [`/v1/keys/${id}`, "/v1/keys"]) {
      const response = await api.send(path, { key });
      expect(response.status).toBe(200);
      expect(response.text).not.toContain("sk_live_value");
    }
  });

  test.each<[string, unknown]>([
    ["no name", { scopes: ["links:read"] }],
    ["an unknown scope", { name: "x", scopes: ["links:everything"] }],
    ["a scope of users", { name: "x", scopes: ["members:write"] }],
    ["an unknown type", { name: "x", scopes: ["links:read"], type: "root" }],
  ])("rejects %s", async (_, body) => {
    const response = await create(body);
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(rows.size).toBe(0);
  });

  test("grants no scope that the calling key lacks", async () => {
    const limited = api.addKey({ scopes: ["keys:write"] });
    const response = await create({ name: "x", scopes: ["links:delete"] }, limited);
    expect([response.status, errorCodeOf(response)]).toEqual([403, "forbidden"]);
    expect(rows.size).toBe(0);
  });
});

describe("DELETE /v1/keys/:id", () => {
  test("revokes a key", async () => {
    const id = await createdId();
    expect((await api.send(`/v1/keys/${id}`, { method: "DELETE", key })).status).toBe(200);
    expect([...rows.values()][0]?.revoked_at).not.toBeNull();
  });

  test("does not find a malformed id", async () => {
    const response = await api.send("/v1/keys/key_nothing", { method: "DELETE", key });
    expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
  });

  test("does not revoke another account's key", async () => {
    const id = await createdId();
    const response = await api.send(`/v1/keys/${id}`, { method: "DELETE", key: api.addKey() });
    expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
    expect([...rows.values()][0]?.revoked_at).toBeNull();
  });
});

describe("POST /v1/keys/:id/rotate", () => {
  test("returns a new value; by default the old key works for a day", async () => {
    const id = await createdId();
    const { status, body } = await api.send(`/v1/keys/${id}/rotate`, { method: "POST", key });
    expect(status).toBe(200);
    expect(body).toMatchObject({ key: "sk_live_value_2" });
    await api.send(`/v1/keys/${id}/rotate`, { key, body: { grace_seconds: 60 } });
    expect(graces).toEqual([86_400, 60]);
  });

  test.each([-1, 1e12, "60", 0.5])("rejects a grace of %p seconds", async (grace_seconds) => {
    const id = await createdId();
    const response = await api.send(`/v1/keys/${id}/rotate`, { key, body: { grace_seconds } });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(graces).toEqual([]);
  });

  test("needs the scope keys:write", async () => {
    const id = await createdId();
    const reader = api.addKey({ accountId: key.accountId, scopes: ["keys:read"] });
    const response = await api.send(`/v1/keys/${id}/rotate`, { method: "POST", key: reader });
    expect([response.status, errorCodeOf(response)]).toEqual([403, "forbidden"]);
  });
});
