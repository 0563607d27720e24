/** Goal: old clicks go when they should, and the figures they were counted in stay; schemas are sound. */
import { expect, test } from "bun:test";

import postgres from "postgres";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { call, linkAnswer } from "../harness/api.ts";
import {
  createDataDir,
  PROJECT_DIR,
  removeDataDir,
  type Stack,
  startStack,
} from "../harness/stack.ts";

const answer = z.object({
  summary: z.object({ total_clicks: z.number(), unique_clicks: z.number() }),
});

async function ask(stack: Stack, query: string): Promise<string> {
  const response = await fetch(stack.info().clickhouse_url, { method: "POST", body: query });
  if (!response.ok) throw new Error(await response.text());
  return (await response.text()).trim();
}

test("single clicks go after their days, rollups stay, the rule can be taken back, and a cluster's schema is read", async () => {
  const dataDir = createDataDir();
  const env = { CLICKS_RETENTION_DAYS: "30" };
  const stack = await startStack({ dataDir, env });
  const key = stack.info().api_key;
  const made = await call(`${stack.info().api_url}/v1/links`, {
    key,
    body: { url: "https://example.com/old" },
  });
  const { id } = linkAnswer.parse(made.body);
  const uuid = decodeId("link", id) ?? "";
  const sql = postgres(stack.info().database_url, { max: 1 });
  await sql`update links set created_at = now() - interval '100 days' where id = ${uuid}`;
  await sql.end();
  await ask(
    stack,
    `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, page, idx)
     SELECT now64(3, 'UTC') - 86400 * if(number < 40, 60, 5), '${uuid}', generateUUIDv4(0), 'live', 'human',
            number % 20, 'DE', 'mobile', '01900000-0000-7000-8000-000000000002', 0, number FROM numbers(100)`,
  );
  const figures = async (query: string): Promise<unknown> =>
    answer.parse((await call(`${stack.info().api_url}/v1/analytics/${id}?${query}`, { key })).body)
      .summary;
  await ask(stack, "OPTIMIZE TABLE clicks FINAL");
  expect(await ask(stack, "SELECT count() FROM clicks")).toBe("60");
  expect(await figures("period=90d")).toMatchObject({ total_clicks: 100, unique_clicks: 20 });
  expect(await figures("period=7d")).toMatchObject({ total_clicks: 60, unique_clicks: 20 });
  // To the quarter of an hour, where the clicks are gone.
  const start = new Date(Date.now() - 80 * 86_400_000).toISOString();
  expect(await figures(`start_date=${start}`)).toMatchObject({ total_clicks: 100 });
  await stack.stop();

  const without = await startStack({ dataDir });
  expect(await ask(without, "SHOW CREATE TABLE clicks")).not.toContain("TTL");
  const { stdout } = Bun.spawnSync([process.execPath, "worker/main.ts", "cluster-schema", "c"], {
    cwd: PROJECT_DIR,
  });
  for (const statement of stdout
    .toString()
    .split(";\n")
    .filter((text) => text.trim() !== "")) {
    expect(await ask(without, `SELECT length(formatQuery($$${statement}$$)) > 0`)).toBe("1");
  }
  await without.stop();
  removeDataDir(dataDir);
});
