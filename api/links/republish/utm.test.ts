/**
 * Goal: after the upgrade, every link with UTM parameters is published once with them, whatever
 * else happens to it.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import type { ActiveLink } from "../../../shared/contracts/link-record.ts";
import { newUuid } from "../../../shared/ids.ts";
import { startPostgres, type TestPostgres } from "../../../test/harness/postgres.ts";
import { SYSTEM } from "../../http/principal.ts";
import { republishUtm } from "./utm.ts";

// Starting a real server takes long on a busy machine.
setDefaultTimeout(60_000);

let postgres: TestPostgres;
beforeAll(async () => void (postgres = await startPostgres()));
afterAll(async () => await postgres[Symbol.asyncDispose]());

test("links of the backlog get a newer record with their parameters; one that is being changed waits", async () => {
  const { sql, links } = postgres;
  const owner = {
    accountId: await postgres.addAccount(),
    mode: "live" as const,
    plan: "pro",
    actor: SYSTEM,
  };
  const url = "https://example.com/?a=1";
  const tagged = [];
  for (let i = 0; i < 3; i++)
    tagged.push((await links.create(owner, newUuid(), { url, utm_source: `source ${i}` })).link);
  const [first, locked, deleted] = tagged;
  if (first === undefined || locked === undefined || deleted === undefined) throw new Error();
  await sql`insert into link_utm_backlog ${sql(tagged.map(({ id }) => ({ link_id: id })))}`;
  await links.remove(owner, deleted.id);
  await sql`delete from link_outbox`;
  await sql.begin(async (other) => {
    await other`select from links where id = ${locked.id} for update`;
    expect(await republishUtm(sql)).toBe(1);
  });
  const published = await sql<{ record: ActiveLink }[]>`select record from link_outbox`;
  expect(published.map(({ record }) => record)).toMatchObject([
    { link_id: first.id, utm: "utm_source=source+0", destination: `${url}&utm_source=source+0` },
  ]);
  expect(published[0]?.record.version).toBeGreaterThan(first.version);
  expect(await links.get(owner, first.id)).toMatchObject({
    version: published[0]?.record.version,
    updated_at: first.updated_at,
  });
  expect(await republishUtm(sql)).toBe(1);
  expect(await republishUtm(sql)).toBeUndefined();
  expect(await sql`select from link_utm_backlog`).toHaveLength(0);
});
