/**
 * Goal: PostgreSQL is migrated below a running API of the last released version: no row changes,
 * and that API goes on serving every request until it is replaced. Method: that version, from the
 * history of the repository, makes a database of its own; this version migrates it; then both serve
 * it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import { openPostgres, type Sql } from "../../api/postgres.ts";
import { createLog } from "../../shared/log.ts";
import { callOnce } from "../harness/api.ts";
import { onDatabase } from "../harness/own-database.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { runProgram } from "../harness/run-program.ts";
import { PROJECT_DIR, type SharedStack, type Stack, startStack } from "../harness/stack.ts";
import { extractProgramBefore } from "../upgrade/old-program.ts";

/** What the last released version had not. */
const ADDED = "shared/contracts/link-settings.ts";

const LIMITS = { minute: 100_000, burst: 100_000, endpoints: { "POST /v1/links": 100_000 } };

/** Links of the old version: more than a page. */
const LINKS = 130;

const old = extractProgramBefore(PROJECT_DIR, ADDED);
if (old === undefined)
  console.warn(`\n!!! Not tested with the version before ${ADDED}: this copy has no history\n`);

const idSchema = z.looseObject({ id: z.string() });
const listSchema = z.object({
  data: z.array(z.looseObject({ id: z.string(), title: z.string().nullable() })),
  pagination: z.object({ total: z.int() }),
});

const tagsSchema = z.object({ data: z.array(z.object({ name: z.string(), links: z.int() })) });

type Json = Record<string, unknown>;

/** Sends a request that must succeed; returns the answer. */
async function send(url: string, key: string, method: string, path: string, body?: Json) {
  const options = { key, method, ...(body === undefined ? {} : { body }) };
  const response = await callOnce(`${url}${path}`, options);
  const { status, body: answer } = response;
  expect([method, path, status < 300 ? "ok" : answer]).toEqual([method, path, "ok"]);
  return answer;
}

/**
 * Every table with its rows as the columns of `columns` have them, in an order that does not depend
 * on their place.
 */
async function dump(sql: Sql, columns: ReadonlyMap<string, string[]>) {
  const tables: Record<string, unknown[]> = {};
  for (const [table, names] of columns) {
    const rows = await sql`select ${sql(names)} from ${sql(table)}`;
    tables[table] = rows.map((row) => JSON.stringify(row)).toSorted();
  }
  return tables;
}

async function listColumns(sql: Sql): Promise<Map<string, string[]>> {
  const rows = await sql<{ table: string; names: string[] }[]>`
    select table_name as table, array_agg(column_name::text order by ordinal_position) as names
      from information_schema.columns
     where table_schema = 'public' and table_name <> 'schema_migrations'
     group by 1 order by 1`;
  return new Map(rows.map(({ table, names }) => [table, names]));
}

describe.skipIf(old === undefined)("the schema of the last released version", () => {
  let stack: Stack;
  let services: SharedStack;
  let sql: Sql;
  let key: string;
  let oldApi: ExtraProcess;
  let newApi: ExtraProcess;
  let full: string;
  let before: Awaited<ReturnType<typeof dump>>;
  let after: typeof before;

  /** Runs a program of the old version to its end. */
  const runOld = (args: readonly string[]): Promise<string> =>
    runProgram(args, { DATABASE_URL: services.info().database_url }, old?.root ?? "");

  beforeAll(async () => {
    stack = await startStack();
    services = onDatabase(stack, "landed");
    await runOld(["api", "migrate"]);
    const create = ["accounts", "create", "--name", "Landed", "--plan", "enterprise"];
    const limits = ["--limits", JSON.stringify(LIMITS)];
    const account = await runOld([...create, ...limits, "--key", "--json"]);
    key = z.object({ key: z.string() }).parse(JSON.parse(account)).key;
    oldApi = await startApi({ ...services, root: old?.root ?? "" });
    await fill();

    sql = openPostgres(services.info().database_url, 2);
    const columns = await listColumns(sql);
    before = await dump(sql, columns);
    await migratePostgres(sql, createLog("test", "fatal"));
    after = await dump(sql, columns);
    newApi = await startApi(services);
  });
  afterAll(async () => {
    await Promise.all([oldApi.stop(), newApi.stop()]);
    await sql.end();
    await stack[Symbol.asyncDispose]();
    old?.remove();
  });

  const sendOld = (method: string, path: string, body?: Json) =>
    send(oldApi.url, key, method, path, body);
  const sendNew = (method: string, path: string, body?: Json) =>
    send(newApi.url, key, method, path, body);

  /** Makes the old version store something in every table that requests of a key fill. */
  async function fill(): Promise<void> {
    const body = {
      url: "https://example.com/landed?a=1",
      alias: "landed",
      title: "Landed",
      tags: ["spring", "sale"],
      password: "correct horse",
      expires_at: "2030-01-01T00:00:00Z",
      utm_source: "mail",
      forward_query: true,
    };
    full = idSchema.parse(await sendOld("POST", "/v1/links", body)).id;
    for (const start of [0, 100]) {
      const links = Array.from({ length: Math.min(100, LINKS - start) }, (_, i) => ({
        url: `https://example.com/landed/${start + i}`,
        title: `Number ${start + i}`,
        tags: ["bulk"],
      }));
      await sendOld("POST", "/v1/links/bulk", { links });
    }
    await sendOld("POST", "/v1/keys", { name: "landed", scopes: ["links:read"] });
    await sendOld("POST", "/v1/domains", { domain: "go.landed.example" });
  }

  test("keeps every row and value when it is migrated", async () => {
    expect(before["links"]?.length).toBe(1 + LINKS);
    for (const [table, rows] of Object.entries(after))
      expect([table, rows]).toEqual([table, before[table] ?? []]);
  });

  test("is read by both versions alike afterwards", async () => {
    const [ofOld, ofNew] = await Promise.all(
      [sendOld, sendNew].map(async (sendTo) =>
        z.looseObject({}).parse(await sendTo("GET", `/v1/links/${full}`)),
      ),
    );
    expect(ofNew).toMatchObject(ofOld ?? {});
    for (const query of [
      "limit=100&page=2",
      "search=number%2012",
      "tag=bulk&sort=clicks&order=asc",
    ]) {
      const [a, b] = await Promise.all(
        [sendOld, sendNew].map(async (sendTo) => {
          const { data, pagination } = listSchema.parse(await sendTo("GET", `/v1/links?${query}`));
          return [data.map(({ id }) => id), pagination.total];
        }),
      );
      expect([query, b]).toEqual([query, a]);
    }
  });

  test("still takes every request of the old version, whose changes the new one sees", async () => {
    const { id } = idSchema.parse(
      await sendOld("POST", "/v1/links", { url: "https://example.com/after", tags: ["after"] }),
    );
    await sendOld("PATCH", `/v1/links/${id}`, { title: "After", alias: "after-landed" });
    expect(await sendNew("GET", `/v1/links/${id}`)).toMatchObject({
      title: "After",
      alias: "after-landed",
      tags: ["after"],
    });
    await sendNew("PATCH", `/v1/links/${id}`, { title: "By the new one" });
    expect(await sendOld("GET", `/v1/links/${id}`)).toMatchObject({ title: "By the new one" });
    // One by one: what its bulk creation calls is gone, as nothing of before 1.0 has to run.
    for (let i = 0; i < 20; i++)
      await sendOld("POST", "/v1/links", { url: `https://example.com/after/${i}` });
    await sendOld("DELETE", `/v1/links/${id}`);
    expect((await callOnce(`${newApi.url}/v1/links/${id}`, { key })).status).toBe(404);

    const created = idSchema.parse(
      await sendOld("POST", "/v1/keys", { name: "after", scopes: ["links:read"] }),
    );
    await sendOld("POST", `/v1/keys/${created.id}/rotate`, {});
    await sendOld("DELETE", `/v1/keys/${created.id}`);
    const domain = idSchema.parse(
      await sendOld("POST", "/v1/domains", { domain: "after.landed.example" }),
    );
    await sendOld("DELETE", `/v1/domains/${domain.id}`);
    await sendOld("GET", "/v1/limits");

    expect(tagsSchema.parse(await sendNew("GET", "/v1/tags")).data).toEqual([
      { name: "bulk", links: LINKS },
      { name: "sale", links: 1 },
      { name: "spring", links: 1 },
    ]);
    const [ofOld, ofNew] = await Promise.all(
      [sendOld, sendNew].map(async (sendTo) =>
        listSchema.parse(await sendTo("GET", "/v1/links?limit=1")),
      ),
    );
    expect([ofOld?.pagination.total, ofNew?.pagination.total]).toEqual([
      1 + LINKS + 20,
      1 + LINKS + 20,
    ]);
  });
});
