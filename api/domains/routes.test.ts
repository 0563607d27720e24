/**
 * Goal: `/v1/domains` validates and authorises requests and returns domains as documented, on a
 * fake store.
 */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import {
  createFakeApi,
  errorCodeOf,
  type FakeApi,
  type FakeKey,
} from "../../test/harness/fake-api.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { DomainRow } from "./model.ts";

let api: FakeApi;
let key: FakeKey;
let rows: Map<Uuid, DomainRow>;
/** Hosts whose TXT record exists. */
let proved: Set<string>;
/** Hosts that have links. */
let inUse: Set<string>;

async function get({ accountId }: { accountId: Uuid }, id: Uuid | undefined) {
  const row = id === undefined ? undefined : rows.get(id);
  if (row?.account_id !== accountId) throw notFound("domain");
  return row;
}

beforeAll(() => {
  api = createFakeApi({
    domains: {
      get,
      async create({ accountId }, id, host) {
        if ([...rows.values()].some((row) => row.host === host))
          throw new ApiError("domain_taken", "Taken.");
        const created_at = new Date("2026-01-02T03:04:05.678Z");
        const row = {
          id,
          account_id: accountId,
          host,
          verification_value: "proof",
          created_at,
          verified_at: null,
          case_sensitive: true,
          switching: false,
          settings: null,
          missing_since: null,
        };
        rows.set(id, row);
        return { ...row };
      },
      async list({ accountId }) {
        const own = [...rows.values()].filter((row) => row.account_id === accountId);
        return { rows: own, total: own.length, next: null };
      },
      async verify(owner, id) {
        const row = await get(owner, id);
        const askedAt = new Date("2026-01-03T00:00:00.000Z");
        if (!proved.has(row.host)) return { row, problem: "There is no TXT record yet.", askedAt };
        row.verified_at = askedAt;
        return { row, problem: null, askedAt };
      },
      async remove(owner, id) {
        const { host, id: found } = await get(owner, id);
        if (inUse.has(host)) throw new ApiError("domain_in_use", "It has links.");
        rows.delete(found);
      },
    },
  });
});
beforeEach(() => {
  rows = new Map();
  proved = new Set();
  inUse = new Set();
  key = api.addKey();
});

async function createdId(domain = "go.example.com"): Promise<string> {
  const { body } = await api.send("/v1/domains", { key, body: { domain } });
  return (body as { id: string }).id;
}

describe("POST /v1/domains", () => {
  test("adds a domain and returns the record that proves ownership", async () => {
    const { status, headers, body } = await api.send("/v1/domains", {
      key,
      body: { domain: "go.example.com" },
    });
    const [id] = rows.keys();
    const text = encodeId("dom", id ?? newUuid());
    expect([status, headers.get("location")]).toEqual([201, `/v1/domains/${text}`]);
    expect(body).toEqual({
      id: text,
      domain: "go.example.com",
      status: "pending",
      verification: { type: "TXT", name: "_shorthop.go.example.com", value: "proof" },
      created_at: "2026-01-02T03:04:05.678Z",
      routing: { type: "CNAME", name: "go.example.com", value: "sho.rt" },
      verified_at: null,
    });
  });

  test.each<[string, unknown]>([
    ["no domain", {}],
    ["an empty one", { domain: "" }],
    ["one that is too long", { domain: "a".repeat(256) }],
    ["an unknown field", { domain: "go.example.com", verified: true }],
  ])("rejects %s", async (_, body) => {
    const response = await api.send("/v1/domains", { key, body });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(rows.size).toBe(0);
  });

  test("rejects a domain that is taken", async () => {
    await createdId();
    const response = await api.send("/v1/domains", { key, body: { domain: "go.example.com" } });
    expect([response.status, errorCodeOf(response)]).toEqual([409, "domain_taken"]);
  });

  test("needs the scope domains:write", async () => {
    const response = await api.send("/v1/domains", {
      key: api.addKey({ scopes: ["domains:read"] }),
      body: { domain: "go.example.com" },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([403, "forbidden"]);
  });
});

describe("POST /v1/domains/:id/verify", () => {
  test("verifies a domain whose record exists", async () => {
    const id = await createdId();
    proved.add("go.example.com");
    const { status, body } = await api.send(`/v1/domains/${id}/verify`, { method: "POST", key });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "verified", problem: null });
  });

  test("says why a domain is still pending, and when DNS was asked", async () => {
    const id = await createdId();
    const { status, body } = await api.send(`/v1/domains/${id}/verify`, { method: "POST", key });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: "pending",
      problem: "There is no TXT record yet.",
      checked_at: "2026-01-03T00:00:00.000Z",
    });
  });

  test("does not verify another account's domain", async () => {
    const id = await createdId();
    proved.add("go.example.com");
    const response = await api.send(`/v1/domains/${id}/verify`, {
      method: "POST",
      key: api.addKey(),
    });
    expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
  });
});

describe("GET and DELETE /v1/domains/:id", () => {
  test("return, list and delete a domain", async () => {
    const id = await createdId();
    expect((await api.send(`/v1/domains/${id}`, { key })).body).toMatchObject({ id });
    const { body } = await api.send("/v1/domains", { key });
    expect(body).toMatchObject({ data: [{ id }], pagination: { total: 1 } });
    expect((await api.send(`/v1/domains/${id}`, { method: "DELETE", key })).status).toBe(200);
    expect(rows.size).toBe(0);
  });

  test("reject the deletion of a domain with links", async () => {
    const id = await createdId();
    inUse.add("go.example.com");
    const response = await api.send(`/v1/domains/${id}`, { method: "DELETE", key });
    expect([response.status, errorCodeOf(response)]).toEqual([409, "domain_in_use"]);
    expect(rows.size).toBe(1);
  });

  test("do not find another account's domain", async () => {
    const id = await createdId();
    const stranger = api.addKey();
    for (const method of ["GET", "DELETE"]) {
      const response = await api.send(`/v1/domains/${id}`, { method, key: stranger });
      expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
    }
    expect((await api.send("/v1/domains", { key: stranger })).body).toMatchObject({ data: [] });
  });
});
