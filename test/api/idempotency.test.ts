/** Goal: a creation takes effect once, however often its request is repeated. */
import { describe, expect, spyOn, test } from "bun:test";

import * as z from "zod";

import { DomainService } from "../../api/domains/service.ts";
import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { call, codeOf, errorSchema, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";

const stack = await forFile(ApiInProcess.start());
const second = await stack.startApi();
const account = await createAccount(stack, "enterprise", UNLIMITED);

const api = (path: string) => `${stack.info().api_url}${path}`;
/** The address of one of two processes, in turn. */
const both = (i: number): string => (i % 2 === 0 ? api("") : second.url);

/** Creates a link with an Idempotency-Key. */
const create = (idempotencyKey: string, body: unknown, key = account.key, base = api("")) =>
  call(`${base}/v1/links`, { key, body, headers: { "idempotency-key": idempotencyKey } });

async function countLinks(key = account.key): Promise<number> {
  const { body } = await call(api("/v1/links?limit=1"), { key });
  return z.object({ pagination: z.object({ total: z.int() }) }).parse(body).pagination.total;
}

/** Creates an API key, always with the same Idempotency-Key. */
const createKeyOnce = (creator: string) =>
  call(api("/v1/keys"), {
    key: creator,
    body: { name: "once", scopes: ["links:read"] },
    headers: { "idempotency-key": "key-once" },
  });

/** Adds a domain, always with the same Idempotency-Key. */
const addDomain = (name: string) =>
  call(api("/v1/domains"), {
    key: account.key,
    body: { domain: `${name}.idempotent.example` },
    headers: { "idempotency-key": `domain-${name}` },
  });

const createBulk = (links: unknown, headers: Record<string, string> = {}, key = account.key) =>
  call(api("/v1/links/bulk"), { key, body: { links }, headers });

describe("a creation with an Idempotency-Key", () => {
  const body = { url: "https://example.com/once", title: "Once" };

  test("takes effect once, and repeated requests get the first response", async () => {
    const before = await countLinks();
    const first = await create("first", body);
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    for (const base of [api(""), second.url]) {
      const repeat = await create("first", body, account.key, base);
      expect([repeat.status, repeat.body]).toEqual([201, first.body]);
      expect(repeat.headers.get("idempotent-replayed")).toBe("true");
      expect(repeat.headers.get("location")).toBe(first.headers.get("location"));
    }
    expect(await countLinks()).toBe(before + 1);
  });

  test("takes effect once if it is sent many times concurrently", async () => {
    const before = await countLinks();
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        create("stampede", body, account.key, i % 2 === 0 ? api("") : second.url),
      ),
    );
    const created = responses.filter(({ status }) => status === 201);
    expect(new Set(created.map((response) => linkSchema.parse(response.body).id)).size).toBe(1);
    for (const response of responses.filter(({ status }) => status !== 201)) {
      expect(codeOf(response)).toEqual([409, "idempotency_in_progress"]);
      expect(response.headers.get("retry-after")).toBe("1");
    }
    expect(await countLinks()).toBe(before + 1);
  });

  test("conflicts with another body or resource under the same Idempotency-Key", async () => {
    await create("conflict", body);
    const other = await create("conflict", { ...body, title: "Twice" });
    expect(codeOf(other)).toEqual([409, "idempotency_conflict"]);
    const elsewhere = await call(api("/v1/links/bulk"), {
      key: account.key,
      body: { links: [body] },
      headers: { "idempotency-key": "conflict" },
    });
    expect(codeOf(elsewhere)).toEqual([409, "idempotency_conflict"]);
  });

  test("replays a rejection; but an invalid request can be corrected", async () => {
    await create("existing", { ...body, alias: "idempotent-taken" });
    const rejected = await create("refused", { ...body, alias: "idempotent-taken" });
    expect(codeOf(rejected)).toEqual([400, "alias_taken"]);
    const repeated = await create("refused", { ...body, alias: "idempotent-taken" });
    expect([codeOf(repeated), repeated.headers.get("idempotent-replayed")]).toEqual([
      [400, "alias_taken"],
      "true",
    ]);
    expect(codeOf(await create("corrected", { url: 5 }))).toEqual([400, "invalid_request"]);
    expect((await create("corrected", body)).status).toBe(201);
  });

  test("is scoped to the account and mode", async () => {
    const stranger = await createAccount(stack, "enterprise", UNLIMITED);
    const { key: testKey } = await createKey(stack, account.id, "links:write", { type: "test" });
    const { key: sibling } = await createKey(stack, account.id, "links:write");
    const first = await create("shared", body);
    expect((await create("shared", body, sibling)).body).toEqual(first.body);
    for (const other of [stranger.key, testKey]) {
      const created = await create("shared", body, other);
      expect(created.status).toBe(201);
      expect(created.body).not.toEqual(first.body);
    }
  });

  test("is executed again, with the same id, after a failure on our side", async () => {
    using creations = spyOn(DomainService.prototype, "create");
    creations.mockRejectedValueOnce(new Error("The disk is on fire."));
    const failed = await addDomain("fails");
    expect(codeOf(failed)).toEqual([500, "internal"]);
    expect(JSON.stringify(failed.body)).not.toContain("fire");
    expect((await addDomain("fails")).status).toBe(201);
    const ids = creations.mock.calls.map(([, id]) => id);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
  });

  test("whose first request is still running is in progress", async () => {
    const [started, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const create = DomainService.prototype.create;
    using creations = spyOn(DomainService.prototype, "create");
    creations.mockImplementationOnce(async function (this: DomainService, ...words) {
      started.resolve();
      await goesOn.promise;
      return await create.apply(this, words);
    });
    const first = addDomain("runs");
    await started.promise;
    const again = await addDomain("runs");
    expect(codeOf(again)).toEqual([409, "idempotency_in_progress"]);
    expect(again.headers.get("retry-after")).toBe("1");
    goesOn.resolve();
    expect((await first).status).toBe(201);
  });

  test("is finished by the next request if the process crashed, without repeating what was done", async () => {
    const first = linkSchema.parse((await create("crashed", body)).body);
    // Simulates a crash after the link was created, before the response was stored.
    await stack.database.sql`
      update idempotency_keys set answer = null, claimed_until = clock_timestamp() - interval '1 second'
       where resource_id = (select id from links where alias = ${first.alias})`;
    const before = await countLinks();
    const repeat = await create("crashed", body);
    expect(linkSchema.parse(repeat.body)).toEqual(first);
    expect(await countLinks()).toBe(before);
  });

  test.each(["", "with space", "x".repeat(256)])(
    "rejects the invalid Idempotency-Key %p",
    async (key) => {
      expect(codeOf(await create(key, body))).toEqual([400, "invalid_request"]);
    },
  );

  test("of an API key replays the secret only to its creator, and stores it encrypted", async () => {
    const first = await createKeyOnce(account.key);
    const { key: value } = z.object({ key: z.string() }).parse(first.body);
    expect((await createKeyOnce(account.key)).body).toEqual(first.body);
    const { key: sibling } = await createKey(stack, account.id, "keys:write,links:read");
    expect(codeOf(await createKeyOnce(sibling))).toEqual([409, "idempotency_conflict"]);
    const rows = await stack.database.sql<{ answer: Uint8Array }[]>`
      select answer from idempotency_keys where answer is not null`;
    const stored = rows.map(({ answer }) => Buffer.from(answer).toString("latin1")).join();
    expect(stored).not.toContain(value);
    expect(stored).not.toContain("example.com");
  });
});

describe("the bulk creation of links", () => {
  const bulkSchema = z.object({
    data: z.array(
      z.union([
        z.strictObject({ index: z.int(), link: linkSchema.loose() }),
        z.strictObject({ index: z.int(), error: errorSchema.shape.error }),
      ]),
    ),
    created: z.int(),
    failed: z.int(),
  });

  test("takes effect once with an Idempotency-Key, even if the response was lost", async () => {
    const links = Array.from({ length: 100 }, (_, i) => ({ url: `https://example.com/b${i}` }));
    const before = await countLinks();
    const first = bulkSchema.parse((await createBulk(links, { "idempotency-key": "bulk" })).body);
    // Shows why, should one of them fail.
    expect(first.data.filter((entry) => "error" in entry)).toEqual([]);
    expect([first.created, await countLinks()]).toEqual([100, before + 100]);
    await stack.database.sql`
      update idempotency_keys set answer = null, claimed_until = '-infinity'
       where created_at = (select max(created_at) from idempotency_keys)`;
    const repeat = bulkSchema.parse((await createBulk(links, { "idempotency-key": "bulk" })).body);
    expect(repeat).toEqual(first);
    expect(await countLinks()).toBe(before + 100);
  });
});

describe("two processes", () => {
  test("create one link of concurrent upserts with one external id, which all update", async () => {
    const put = (i: number, key = account.key) =>
      call(`${both(i)}/v1/links/external/crm-7`, {
        method: "PUT",
        key,
        body: { url: "https://example.com/crm", title: `Title ${i}` },
      });
    const responses = await Promise.all(Array.from({ length: 20 }, (_, i) => put(i)));
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(19);
    expect(new Set(responses.map(({ body }) => linkSchema.parse(body).id)).size).toBe(1);
    const { key: testKey } = await createKey(stack, account.id, "links:write", { type: "test" });
    expect((await put(0, testKey)).status).toBe(201);
    const duplicate = { url: "https://example.com/", external_id: "crm-7" };
    expect(codeOf(await call(api("/v1/links"), { key: account.key, body: duplicate }))).toEqual([
      409,
      "external_id_taken",
    ]);
  });

  test("let one of the updates through that know the same version", async () => {
    const { id } = linkSchema.parse(
      (await create("versions", { url: "https://example.com/" })).body,
    );
    const path = `/v1/links/${id}`;
    const etag = (await call(api(path), { key: account.key })).headers.get("etag") ?? "";
    const update = (i: number, version: string, method = "PATCH") =>
      call(`${both(i)}${path}`, {
        method,
        key: account.key,
        headers: { "if-match": version },
        ...(method === "PATCH" ? { body: { title: `Title ${i}` } } : {}),
      });
    const responses = await Promise.all(Array.from({ length: 12 }, (_, i) => update(i, etag)));
    const [won, ...others] = responses.toSorted((a, b) => a.status - b.status);
    expect(won?.status).toBe(200);
    for (const other of others) expect(codeOf(other)).toEqual([412, "precondition_failed"]);
    expect(codeOf(await update(0, etag, "DELETE"))).toEqual([412, "precondition_failed"]);
    expect((await update(1, won?.headers.get("etag") ?? "", "DELETE")).status).toBe(200);
  });
});
