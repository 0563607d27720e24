/** Goal: a question about a link asks only the stores that its answer needs. */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { createLinksOn, startPostgres } from "../../test/harness/postgres.ts";
import { SYSTEM } from "../http/principal.ts";
import { QueryResolver } from "./query-resolver.ts";

const postgres = await forFile(startPostgres());

const unasked = () => Promise.reject(new Error("It is not asked."));

test("the used clicks of a link with a click limit are not read to count its clicks", async () => {
  const links = createLinksOn(postgres.sql, { usedClicks: { read: unasked } });
  const reader = { accountId: await postgres.addAccount(), mode: "live", plan: "free" } as const;
  const id = newUuid();
  const body = { url: "https://example.com/", max_clicks: 5 };
  // Its used clicks are part of what creates and gets it.
  await postgres.links.create({ ...reader, actor: SYSTEM }, id, body);
  expect(links.get(reader, id)).rejects.toThrow("It is not asked.");
  const clickhouse = { query: unasked, command: unasked, chunks: unasked };
  const resolver = new QueryResolver({ for: () => clickhouse }, links, 0);
  const { subject } = await resolver.resolve(reader, { link: id }, {});
  expect(subject).toMatchObject({ link: { id } });
});
