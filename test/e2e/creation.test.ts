/** Goal: what is asked for once is made once, however often the request has to be repeated. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import postgres from "postgres";
import * as z from "zod";

import { createAccount, createKey, type NewAccount } from "../harness/admin.ts";
import { type Answer, call, errorAnswer, linkAnswer } from "../harness/api.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const PLENTY = { minute: 100_000, burst: 100_000, endpoints: { "POST /v1/links": 100_000 } };

let stack: Stack;
let second: ExtraProcess;
let account: NewAccount;
let sql: postgres.Sql;

beforeAll(async () => {
  stack = await startStack();
  second = await startApi(stack);
  account = await createAccount(stack, "enterprise", PLENTY);
  sql = postgres(stack.info().database_url, { max: 2 });
});
afterAll(async () => {
  await sql.end();
  await second.stop();
  await stack[Symbol.asyncDispose]();
});

const api = (path: string) => `${stack.info().api_url}${path}`;
const codeOf = ({ status, body }: Answer) => [status, errorAnswer.parse(body).error.code];

/** Creates a link under an Idempotency-Key. */
const create = (idempotencyKey: string, body: unknown, key = account.key, base = api("")) =>
  call(`${base}/v1/links`, { key, body, headers: { "idempotency-key": idempotencyKey } });

async function total(key = account.key): Promise<number> {
  const { body } = await call(api("/v1/links?limit=1"), { key });
  return z.object({ pagination: z.object({ total: z.int() }) }).parse(body).pagination.total;
}

/** Makes an API key under one Idempotency-Key. */
const makeKey = (maker: string) =>
  call(api("/v1/keys"), {
    key: maker,
    body: { name: "once", scopes: ["links:read"] },
    headers: { "idempotency-key": "key-once" },
  });

const bulk = (links: unknown, headers: Record<string, string> = {}, key = account.key) =>
  call(api("/v1/links/bulk"), { key, body: { links }, headers });

describe("a creation under an Idempotency-Key", () => {
  const body = { url: "https://example.com/once", title: "Once" };

  test("is done once, and repeats get the first answer", async () => {
    const before = await total();
    const first = await create("first", body);
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    for (const base of [api(""), second.url]) {
      const repeat = await create("first", body, account.key, base);
      expect([repeat.status, repeat.body]).toEqual([201, first.body]);
      expect(repeat.headers.get("idempotent-replayed")).toBe("true");
      expect(repeat.headers.get("location")).toBe(first.headers.get("location"));
    }
    expect(await total()).toBe(before + 1);
  });

  test("of many at once is done once", async () => {
    const before = await total();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        create("stampede", body, account.key, i % 2 === 0 ? api("") : second.url),
      ),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(new Set(made.map((answer) => linkAnswer.parse(answer.body).id)).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(codeOf(answer)).toEqual([409, "idempotency_in_progress"]);
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    expect(await total()).toBe(before + 1);
  });

  test("with another body or for another resource is a conflict", async () => {
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

  test("that was refused is refused again; one that was not valid can be put right", async () => {
    await create("taker", { ...body, alias: "idempotent-taken" });
    const refused = await create("refused", { ...body, alias: "idempotent-taken" });
    expect(codeOf(refused)).toEqual([400, "alias_taken"]);
    const again = await create("refused", { ...body, alias: "idempotent-taken" });
    expect([codeOf(again), again.headers.get("idempotent-replayed")]).toEqual([
      [400, "alias_taken"],
      "true",
    ]);
    expect(codeOf(await create("mended", { url: 5 }))).toEqual([400, "invalid_request"]);
    expect((await create("mended", body)).status).toBe(201);
  });

  test("is the account's and the mode's own", async () => {
    const stranger = await createAccount(stack, "enterprise", PLENTY);
    const { key: testKey } = await createKey(stack, account.id, "links:write", { type: "test" });
    const { key: sibling } = await createKey(stack, account.id, "links:write");
    const first = await create("shared", body);
    expect((await create("shared", body, sibling)).body).toEqual(first.body);
    for (const other of [stranger.key, testKey]) {
      const made = await create("shared", body, other);
      expect(made.status).toBe(201);
      expect(made.body).not.toEqual(first.body);
    }
  });

  test("is forgotten after a day", async () => {
    const first = linkAnswer.parse((await create("yesterday", body)).body);
    await sql`update idempotency_keys set created_at = created_at - interval '24 hours 1 second'`;
    const next = linkAnswer.parse((await create("yesterday", body)).body);
    expect(next.id).not.toBe(first.id);
  });

  test("whose process died is done by the next, without doing twice what was done", async () => {
    const first = linkAnswer.parse((await create("crashed", body)).body);
    // As if the process had died between the link and its answer.
    await sql`
      update idempotency_keys set answer = null, claimed_until = clock_timestamp() - interval '1 second'
       where resource_id = (select id from links where alias = ${first.alias})`;
    const before = await total();
    const repeat = await create("crashed", body);
    expect(linkAnswer.parse(repeat.body)).toEqual(first);
    expect(await total()).toBe(before);
  });

  test.each(["", "with space", "x".repeat(256)])("needs a proper key: not %p", async (key) => {
    expect(codeOf(await create(key, body))).toEqual([400, "invalid_request"]);
  });

  test("of an API key gives the value again to the maker alone, and keeps it from the database", async () => {
    const first = await makeKey(account.key);
    const { key: value } = z.object({ key: z.string() }).parse(first.body);
    expect((await makeKey(account.key)).body).toEqual(first.body);
    const { key: sibling } = await createKey(stack, account.id, "keys:write,links:read");
    expect(codeOf(await makeKey(sibling))).toEqual([409, "idempotency_conflict"]);
    const rows = await sql<{ answer: Uint8Array }[]>`
      select answer from idempotency_keys where answer is not null`;
    const kept = rows.map(({ answer }) => Buffer.from(answer).toString("latin1")).join();
    expect(kept).not.toContain(value);
    expect(kept).not.toContain("example.com");
  });
});

describe("many links at once", () => {
  const bulkAnswer = z.object({
    data: z.array(
      z.union([
        z.strictObject({ index: z.int(), link: linkAnswer.loose() }),
        z.strictObject({ index: z.int(), error: errorAnswer.shape.error }),
      ]),
    ),
    created: z.int(),
    failed: z.int(),
  });
  test("are made each on its own, in the order asked for, and redirect at once", async () => {
    await create("bulk-taken", { url: "https://example.com/", alias: "bulk-taken" });
    const { status, body } = await bulk([
      { url: "https://example.com/0", alias: "bulk-0" },
      { url: "nonsense" },
      { url: "https://example.com/2", alias: "bulk-taken" },
      { url: "https://example.com/3", tags: ["a", "a", "b"] },
    ]);
    expect(status).toBe(200);
    const { data, created, failed } = bulkAnswer.parse(body);
    expect([created, failed]).toEqual([2, 2]);
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(data[0]).toMatchObject({ link: { alias: "bulk-0" } });
    expect(data[1]).toMatchObject({ error: { code: "invalid_url" } });
    expect(data[2]).toMatchObject({ error: { code: "alias_taken" } });
    expect(data[3]).toMatchObject({ link: { tags: ["a", "b"] } });
    for (const entry of data) {
      if (!("link" in entry)) continue;
      const { status: redirected, headers } = await call(entry.link.short_url);
      expect([redirected, headers.get("location")]).toEqual([302, entry.link.original_url]);
    }
  });

  test("are made once under an Idempotency-Key, even when the answer got lost", async () => {
    const links = Array.from({ length: 100 }, (_, i) => ({ url: `https://example.com/b${i}` }));
    const before = await total();
    const first = bulkAnswer.parse((await bulk(links, { "idempotency-key": "bulk" })).body);
    expect([first.created, await total()]).toEqual([100, before + 100]);
    await sql`
      update idempotency_keys set answer = null, claimed_until = '-infinity'
       where created_at = (select max(created_at) from idempotency_keys)`;
    const repeat = bulkAnswer.parse((await bulk(links, { "idempotency-key": "bulk" })).body);
    expect(repeat).toEqual(first);
    expect(await total()).toBe(before + 100);
  });

  test.each([[[]], [Array.from({ length: 101 }, () => ({ url: "https://example.com/" }))], ["x"]])(
    "must be one to a hundred",
    async (links) => {
      expect(codeOf(await bulk(links))).toEqual([400, "invalid_request"]);
    },
  );

  test("count each toward the hourly limit, all of them or none", async () => {
    const { key } = await createAccount(stack, "enterprise", {
      minute: 1_000,
      burst: 1_000,
      endpoints: { "POST /v1/links": 100 },
    });
    const some = (count: number) =>
      bulk(
        Array.from({ length: count }, () => ({ url: "https://example.com/" })),
        {},
        key,
      );
    const first = await some(70);
    expect([first.status, first.headers.get("x-ratelimit-remaining")]).toEqual([200, "30"]);
    const refused = await some(31);
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    expect(refused.headers.get("x-ratelimit-policy")).toBe("100;w=3600");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3_500);
    expect(await total(key)).toBe(70);
    expect((await some(29)).status).toBe(200);
    const single = { key, body: { url: "https://example.com/" } };
    expect((await call(api("/v1/links"), single)).status).toBe(201);
    expect((await call(api("/v1/links"), single)).status).toBe(429);
  });
});
