/** Goal: links are read in batches, each once. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { LinksStores } from "../../test/harness/links-stores.ts";
import { readServedLinks } from "./record.ts";

/** More than a batch has. */
const LINKS = 20_000;

const stores = await forFile(LinksStores.start());
await stores.addLinks(LINKS);

test("all links are read once, with the clicks of those that have a limit", async () => {
  const { sql, owner } = stores;
  const fields = { url: "https://example.com", alias: "limited", max_clicks: 9 };
  const { link } = await stores.links.create(owner, newUuid(), fields);
  await sql`update link_counters set clicks = 7 where link_id = ${link.id}`;
  const all = (await Array.fromAsync(readServedLinks(sql))).flat();
  const read = all.filter(({ domain }) => domain === "");
  expect(new Set(read.map(({ alias }) => alias)).size).toBe(LINKS + 1);
  expect(read).toHaveLength(LINKS + 1);
  const limited = read.find(({ alias }) => alias === "limited");
  expect(limited?.extras?.limit).toMatchObject({ max: 9, stored: 7 });
});

test("the links of all domains that serve are read, each once, whichever batch they fall into", async () => {
  const { accountId } = stores.owner;
  const expected: string[] = [];
  for (const [i, count] of [1, 200, 199, 450, 0, 3].entries()) {
    const id = newUuid();
    await stores.sql`
      insert into domains (id, account_id, mode, host, verification_value, verified_at, case_sensitive)
      values (${id}, ${accountId}, 'live', ${`d${i}.example`}, 'value', now(), false)`;
    await stores.addLinks(count, `d${i}`, id);
    if (i === 3) await stores.sql`update domains set verified_at = null where id = ${id}`;
    else expected.push(...Array.from({ length: count }, (_, n) => `d${i}.example/d${i}-${n + 1}`));
  }
  const read: string[] = [];
  for await (const links of readServedLinks(stores.sql))
    read.push(...links.map(({ domain, alias }) => `${domain}/${alias}`));
  const own = read.filter((name) => !name.startsWith("/"));
  expect(own.toSorted()).toEqual(expected.toSorted());
});
