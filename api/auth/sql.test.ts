/**
 * Goal: `authorize_request` decides by key, scope and every window, exactly, also for concurrent
 * requests.
 */
import { describe, expect, test } from "bun:test";

import { rotateKeyBody, type Scope } from "../../shared/contracts/key-schemas.ts";
import { newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { AccountService } from "../accounts/service.ts";
import { PostgresStores } from "../stores.ts";
import type { AccessRule } from "./access-rules.ts";
import { generateKey, type KeyParts, parseKey } from "./api-key.ts";
import { authorizeAll, type RequestGroup } from "./sql.ts";

/** A limit of the plan `free` (migration 0001). */
const FREE_BURST = 10;

const READ: AccessRule = { scope: "links:read", endpoint: null, cost: 1 };

const postgres = await forFile(startPostgres());

async function addKey({
  scopes = ["links:read", "links:write"] as Scope[],
  expiresAt = null as Date | null,
} = {}) {
  const accountId = await postgres.addAccount("free");
  const created = await postgres.keys.createAny({
    accountId,
    name: "Test",
    mode: "live",
    scopes,
    expiresAt,
  });
  const parts = parseKey(created.key);
  if (parts === undefined) throw new Error("A key that was just generated is malformed.");
  return { accountId, id: created.row.id, parts };
}

/** A busy machine may take longer than a client would wait. */
const TIMEOUT_MS = 60_000;

const authorizeMany = (requests: readonly RequestGroup[]) =>
  authorizeAll(postgres.sql, requests, TIMEOUT_MS);

async function authorize(key: KeyParts, rule = READ, wanted = 1, refused = 0) {
  const [result] = await authorizeMany([{ key, rule, wanted, refused, network: null }]);
  return result;
}

const readSpent = async (accountId: string): Promise<Record<string, number>> => {
  const windows = await new PostgresStores(postgres.sql).listWindows({ accountId, mode: "live" });
  return Object.fromEntries(windows.map(({ name, spent }) => [name, spent]));
};

describe("a key", () => {
  test("that is valid is granted, with its principal and its windows", async () => {
    const { accountId, id, parts } = await addKey();
    const result = await authorize(parts);
    expect(result).toMatchObject({
      verdict: "ok",
      granted: 1,
      principal: { callerId: id, accountId, mode: "live", plan: "free" },
    });
    expect(result?.windows.map(({ name, spent }) => [name, spent])).toEqual([
      ["burst", 1],
      ["minute", 1],
      ["day", 1],
    ]);
  });

  test("that does not exist, or has a wrong secret, is unknown", async () => {
    const { parts } = await addKey();
    expect(await authorize(generateKey("live"))).toBeUndefined();
    expect(
      await authorize({ ...parts, secretHash: generateKey("live").secretHash }),
    ).toBeUndefined();
  });

  test("that is revoked, expired or without the scope is rejected, and consumes nothing", async () => {
    const revoked = await addKey();
    await postgres.keys.revokeAny(revoked.id);
    const expired = await addKey({ expiresAt: new Date(Date.now() - 1_000) });
    const forbidden = await addKey({ scopes: ["domains:read"] });
    for (const [{ parts, accountId }, verdict] of [
      [revoked, "revoked"],
      [expired, "expired"],
      [forbidden, "forbidden"],
    ] as const) {
      expect(await authorize(parts)).toMatchObject({ verdict, granted: 0 });
      expect((await readSpent(accountId))["minute"]).toBe(0);
    }
  });
});

test("a rotated key works for its grace, a day unless another is chosen, and is then said to be rotated", async () => {
  const { sql } = postgres;
  const [kept, ended] = [await addKey(), await addKey()];
  const { grace_seconds } = rotateKeyBody.parse({});
  await postgres.keys.rotateAny(kept.id, grace_seconds);
  expect(await authorize(kept.parts)).toMatchObject({ verdict: "ok" });
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from revoked_at - now())::integer as seconds from api_keys where id = ${kept.id}`;
  expect(row?.seconds).toBeWithin(86_000, 86_401);
  // It can be revoked before, and the ledger says so.
  await postgres.keys.revokeAny(kept.id);
  expect(await authorize(kept.parts)).toMatchObject({ verdict: "revoked" });
  const events = await sql<{ type: string }[]>`
    select type from events where object_id = ${kept.id} order by sequence`;
  expect(events.map(({ type }) => type)).toEqual(["key.created", "key.revoked"]);
  await postgres.keys.rotateAny(ended.id, 0);
  expect(await authorize(ended.parts)).toMatchObject({ verdict: "revoked", isReplaced: true });
  const revoked = await addKey();
  await postgres.keys.revokeAny(revoked.id);
  expect(await authorize(revoked.parts)).toMatchObject({ verdict: "revoked", isReplaced: false });
});

describe("several keys in one query", () => {
  const WRITE: AccessRule = { scope: "links:write", endpoint: "POST /v1/links", cost: 1 };

  test("are decided each for itself, in the order in which they were asked", async () => {
    const [one, two, revoked] = [await addKey(), await addKey(), await addKey()];
    await postgres.keys.revokeAny(revoked.id);
    const unknown = generateKey("live");
    const asked = [two.parts, unknown, revoked.parts, one.parts].map((key) => ({
      key,
      rule: READ,
      wanted: 1,
      refused: 0,
      network: null,
    }));
    const results = await authorizeMany(asked);
    expect(results.map((result) => [result?.verdict, result?.principal.callerId])).toEqual([
      ["ok", two.id],
      [undefined, undefined],
      ["revoked", revoked.id],
      ["ok", one.id],
    ]);
  });

  test("of one account, or one key under two rules, spend the account's windows together", async () => {
    const { parts, accountId } = await addKey();
    const asked = [READ, WRITE, READ].map((rule) => ({
      key: parts,
      rule,
      wanted: 2,
      refused: 0,
      network: null,
    }));
    const results = await authorizeMany(asked);
    expect(results.map((result) => result?.windows[0]?.spent)).toEqual([2, 4, 6]);
    expect((await readSpent(accountId))["minute"]).toBe(6);
  });

  test("in any order never wait for each other, and are all counted", async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => addKey()));
    const asked = keys.map(({ parts }) => ({
      key: parts,
      rule: READ,
      wanted: 1,
      refused: 0,
      network: null,
    }));
    const queries = Array.from({ length: FREE_BURST }, (_, i) =>
      authorizeMany(i % 2 === 0 ? asked : asked.toReversed()),
    );
    const verdicts = (await Promise.all(queries)).flat().map((result) => result?.verdict);
    expect(new Set(verdicts)).toEqual(new Set(["ok"]));
    for (const { accountId } of keys)
      expect((await readSpent(accountId))["minute"]).toBe(FREE_BURST);
  });
});

describe("limits", () => {
  test("are beside what an operator says: suspended for minutes, until that is lifted, or no longer", async () => {
    const { parts, accountId } = await addKey();
    const accounts = new AccountService(postgres.sql);
    expect(await accounts.suspend(accountId, 30)).toBe(true);
    const result = await authorize(parts);
    expect(result?.verdict).toBe("throttled");
    expect((result?.throttledUntil ?? 0) - (result?.now ?? 0)).toBeWithin(29 * 60_000, 30 * 60_001);
    await accounts.suspend(accountId, undefined);
    expect(await authorize(parts)).toMatchObject({ verdict: "suspended" });
    await accounts.suspend(accountId, 0);
    expect(await authorize(parts)).toMatchObject({ verdict: "ok" });
    expect(await accounts.suspend(newUuid(), 30)).toBe(false);
  });
});
