/** Goal: old clicks are deleted after their retention, while the rollups stay; schemas are valid. */
import { expect, test } from "bun:test";

import postgres from "postgres";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { call, linkSchema } from "../harness/api.ts";
import {
  createDataDir,
  PROJECT_DIR,
  removeDataDir,
  type Stack,
  startStack,
} from "../harness/stack.ts";

const summarySchema = z.object({
  summary: z.object({ total_clicks: z.number(), unique_clicks: z.number() }),
});

/** Escapes a text parameter as ClickHouse's TSV does. */
const escapeText = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t");

async function runQuery(
  stack: Stack,
  query: string,
  parameters = new URLSearchParams(),
): Promise<string> {
  const url = `${stack.info().clickhouse_url}/?${parameters.toString()}`;
  const response = await fetch(url, { method: "POST", body: query });
  if (!response.ok) throw new Error(await response.text());
  return (await response.text()).trim();
}

test("raw clicks are deleted after their retention, rollups stay, the setting is reversible, and the cluster's schema is valid", async () => {
  const dataDir = createDataDir();
  const env = { CLICKS_RETENTION_DAYS: "30" };
  const stack = await startStack({ dataDir, env });
  const key = stack.info().api_key;
  const created = await call(`${stack.info().api_url}/v1/links`, {
    key,
    body: { url: "https://example.com/old" },
  });
  const { id } = linkSchema.parse(created.body);
  const uuid = decodeId("link", id) ?? "";
  const sql = postgres(stack.info().database_url, { max: 1 });
  await sql`update links set created_at = now() - interval '100 days' where id = ${uuid}`;
  await sql.end();
  await runQuery(
    stack,
    `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, segment, idx)
     SELECT now64(3, 'UTC') - 86400 * if(number < 40, 60, 5), '${uuid}', generateUUIDv4(0), 'live', 'human',
            number % 20, 'DE', 'mobile', '01900000-0000-7000-8000-000000000002', 0, number FROM numbers(100)`,
  );
  const getSummary = async (query: string): Promise<unknown> =>
    summarySchema.parse(
      (await call(`${stack.info().api_url}/v1/analytics/${id}?${query}`, { key })).body,
    ).summary;
  await runQuery(stack, "OPTIMIZE TABLE clicks FINAL");
  expect(await runQuery(stack, "SELECT count() FROM clicks")).toBe("60");
  expect(await getSummary("period=90d")).toMatchObject({ total_clicks: 100, unique_clicks: 20 });
  expect(await getSummary("period=7d")).toMatchObject({ total_clicks: 60, unique_clicks: 20 });
  const getCountries = async (query: string): Promise<unknown> =>
    (await call(`${stack.info().api_url}/v1/analytics/${id}/geo?${query}`, { key })).body;
  expect(await getCountries("period=90d")).toMatchObject({
    data: [{ country: "DE", clicks: 100 }],
  });
  expect(await getCountries("period=7d")).toMatchObject({ data: [{ country: "DE", clicks: 60 }] });
  // A zone whose days are not UTC's: the edge with deleted clicks is rounded to its whole UTC day.
  expect(await getCountries("period=90d&timezone=Asia/Kolkata")).toMatchObject({
    data: [{ country: "DE", clicks: 100 }],
  });
  // Exact to the quarter of an hour, because only rollups remain.
  const start = new Date(Date.now() - 80 * 86_400_000).toISOString();
  expect(await getSummary(`start_date=${start}`)).toMatchObject({ total_clicks: 100 });
  await stack.stop();

  const without = await startStack({ dataDir });
  expect(await runQuery(without, "SHOW CREATE TABLE clicks")).not.toContain("TTL");
  const { stdout } = Bun.spawnSync([process.execPath, "worker/main.ts", "cluster-schema", "c"], {
    cwd: PROJECT_DIR,
  });
  for (const statement of stdout
    .toString()
    .split(";\n")
    .filter((text) => text.trim() !== "")) {
    // As a parameter: the local ClickHouse rejects what a statement's own text may not use.
    const parameters = new URLSearchParams({ param_statement: escapeText(statement) });
    const query = "SELECT length(formatQuery({statement: String})) > 0";
    expect(await runQuery(without, query, parameters)).toBe("1");
  }
  await without.stop();
  removeDataDir(dataDir);
});
