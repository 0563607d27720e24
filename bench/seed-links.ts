/**
 * `bun run bench:seed-links [COUNT] [ACCOUNT]`: fills an account of a running local stack with
 * links, by default a million in the demo account. `DATABASE_URL` names another database.
 */
import postgres from "postgres";

import { decodeId } from "../shared/ids.ts";
import { seedLinks } from "../test/harness/links-seed.ts";

const COUNT = 1_000_000;

const [count = String(COUNT), account] = process.argv.slice(2);
const url = process.env["DATABASE_URL"] ?? (await localDatabase());
const sql = postgres(url, { max: 1, onnotice: () => undefined });
const accountId = account === undefined ? await firstAccount() : decodeId("acct", account);
if (accountId === undefined) throw new Error(`${account} is not an account id.`);
await seedLinks(sql, accountId, Number(count), (inserted) =>
  console.log(`${inserted} of ${count}`),
);
await sql.end();

async function localDatabase(): Promise<string> {
  const file = Bun.file(`${import.meta.dir}/../.local/stack.json`);
  if (!(await file.exists())) throw new Error("Start a stack (npm start), or set DATABASE_URL.");
  const info: { database_url: string } = await file.json();
  return info.database_url;
}

async function firstAccount(): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from accounts order by created_at limit 1`;
  return row?.id;
}
