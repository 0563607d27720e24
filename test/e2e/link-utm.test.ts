/**
 * Goal: a click is reported under the UTM parameters that its destination was sent, and under those
 * of its short URL where that has none; also clicks that were stored before links' parameters were.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";

import postgres from "postgres";
import * as z from "zod";

import { openPostgres } from "../../api/postgres.ts";
import { decodeId } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { openClickHouse } from "../../worker/clickhouse.ts";
import { fillLinkUtm } from "../../worker/migrations/link-utm.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

let stack: Stack;
let key: string;

const api = (path: string) => `${stack.info().api_url}${path}`;

beforeAll(async () => {
  stack = await startStack();
  ({ key } = await createAccount(stack, "enterprise", {
    minute: 100_000,
    burst: 100_000,
    endpoints: { "GET /v1/analytics/*": 100_000 },
  }));
});
afterAll(async () => await stack[Symbol.asyncDispose]());

const create = async (body: object) =>
  linkSchema.parse(
    (
      await call(api("/v1/links"), {
        key,
        body: { url: "https://example.com/?utm_source=site", ...body },
      })
    ).body,
  );

const click = (url: string) =>
  call(url, { headers: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/120.0" } });

const breakdownSchema = z.object({
  data: z.array(z.object({ values: z.record(z.string(), z.string()), clicks: z.int() })),
});

/** Clicks of a link by a dimension. */
async function countBy(link: string, by: string): Promise<Record<string, number>> {
  const { body } = await call(api(`/v1/analytics/${link}/breakdown?by=${by}`), { key });
  return Object.fromEntries(
    breakdownSchema.parse(body).data.map(({ values, clicks }) => [values[by] ?? "", clicks]),
  );
}

test("the destination's parameters at the time of the click count, and the short URL's where it has none", async () => {
  const plain = await create({});
  const { id, short_url } = await create({
    utm_source: "Brief März & mehr",
    utm_campaign: "spring",
    rules: [{ url: "https://example.org/", conditions: [{ type: "query", name: "rule" }] }],
  });
  for (const query of ["", "?utm_source=own", "?utm_medium=own", "?rule"])
    expect((await click(short_url + query)).status).toBe(302);
  await click(plain.short_url);
  const counted = async () => [
    await countBy(id, "utm_source"),
    await countBy(id, "utm_medium"),
    await countBy(id, "utm_campaign"),
    // It is in the destination's own query.
    await countBy(plain.id, "utm_source"),
  ];
  await eventually(async () => {
    expect(await counted()).toEqual([
      { "Brief März & mehr": 4 },
      { "": 3, own: 1 },
      { spring: 4 },
      { site: 1 },
    ]);
  }, 10_000);
  await call(api(`/v1/links/${id}`), { key, method: "PATCH", body: { utm_source: "later" } });
  // Crawlers are not among the clicks that are counted.
  await eventually(async () => {
    const { headers } = await call(short_url, { headers: { "user-agent": "Googlebot/2.1" } });
    expect(headers.get("location")).toContain("utm_source=later");
  }, 10_000);
  await click(short_url);
  await eventually(async () => {
    expect(await countBy(id, "utm_source")).toEqual({ "Brief März & mehr": 4, later: 1 });
  }, 10_000);
});

test("clicks from before get today's values of their links where they have none, once and for good", async () => {
  const [tagged, other, plain] = [
    await create({ utm_source: "today", utm_term: "t" }),
    await create({ utm_medium: "other" }),
    await create({}),
  ];
  const client = openClickHouse(stack.info().clickhouse_url, 60_000);
  const sql = openPostgres(stack.info().database_url, 1);
  const old = [tagged, tagged, other, plain].map(({ id }, idx) => ({
    ts: Date.now() - 86_400_000,
    link_id: decodeId("link", id),
    account_id: crypto.randomUUID(),
    mode: "live",
    class: "human",
    visitor: String(idx),
    utm_source: idx === 1 ? "own" : "",
    journal_id: crypto.randomUUID(),
    idx,
  }));
  try {
    await client.insert({ table: "clicks", values: old, format: "JSONEachRow" });
    const log = createLog("test", "silent");
    // A run that was interrupted is repeated.
    for (let run = 0; run < 2; run++) await fillLinkUtm(client, sql, log, 1);
    expect(await countBy(tagged.id, "utm_source")).toEqual({ today: 1, own: 1 });
    expect(await countBy(tagged.id, "utm_term")).toEqual({ t: 2 });
    expect(await countBy(other.id, "utm_medium")).toEqual({ other: 1 });
    expect(await countBy(plain.id, "utm_source")).toEqual({ "": 1 });
    const tables = await client.query({
      query: "SHOW TABLES LIKE 'link_utm%'",
      format: "TabSeparated",
    });
    expect(await tables.text()).toBe("");
  } finally {
    await sql.end();
    await client.close();
  }
});

test("links from before are published with their parameters by the API that starts first", async () => {
  const sql = postgres(stack.info().database_url, { max: 1 });
  let second: ExtraProcess | undefined;
  try {
    // As the migration leaves it, with a record in the feed that has no parameters.
    const { id, short_url } = await create({ utm_source: "before" });
    await sql`insert into link_utm_backlog (link_id) values (${decodeId("link", id) ?? ""})`;
    second = await startApi(stack);
    await eventually(async () => {
      expect(await sql`select from link_utm_backlog`).toHaveLength(0);
      expect(await sql`select from link_outbox`).toHaveLength(0);
    }, 20_000);
    expect((await click(short_url)).status).toBe(302);
    await eventually(async () => {
      expect(await countBy(id, "utm_source")).toEqual({ before: 1 });
    }, 10_000);
  } finally {
    await second?.stop();
    await sql.end();
  }
});
