/**
 * Goal: what the client adds to the API (lists of any length, iterators, exports) is right on a
 * real one.
 */
import { expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { CHROME } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

/** More than two requests of 100. */
const LINKS = 230;
const CLICKS = 7;
const TAG = "many";

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const shorthop = createClient({ baseUrl: stack.info().api_url, apiKey: key });

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

test("lists of more links than one request takes are created, changed and deleted", async () => {
  const { data, created } = await shorthop.links.createMany(
    Array.from({ length: LINKS }, (_, i) => ({ url: `https://example.com/${i}`, tags: [TAG] })),
  );
  expect([created, data.map(({ index }) => index)]).toEqual([LINKS, data.map((_, i) => i)]);
  const ids = data.flatMap((item) => ("link" in item ? [item.link.id] : []));
  const titled = ids.map((id, i) => ({ id, title: `Number ${i}` }));
  expect(await shorthop.links.updateMany(titled)).toMatchObject({ updated: LINKS, failed: 0 });
  const listed = await Array.fromAsync(shorthop.links.all({ tag: TAG }));
  expect(new Map(listed.map(({ id, title }) => [id, title ?? ""]))).toEqual(
    new Map(titled.map(({ id, title }) => [id, title])),
  );
  expect(await shorthop.links.deleteMany([...ids, "link_unknown"])).toMatchObject({
    deleted: LINKS,
    failed: 1,
  });
});

test("iterators over domains and shares meet every entry once, also when each is deleted as it is met", async () => {
  const { domains, shares } = shorthop;
  const count = 105;
  const created = { domains: new Set<string>(), shares: new Set<string>() };
  for (let i = 0; i < count; i++) {
    const [domain, share] = await Promise.all([
      domains.create(`d${i}.many.example`),
      shares.create({ name: `Share ${i}` }),
    ]);
    created.domains.add(domain.id);
    created.shares.add(share.id);
  }
  const met = { domains: [] as string[], shares: [] as string[] };
  for await (const { id } of domains.all()) {
    if (!created.domains.has(id)) continue;
    met.domains.push(id);
    await domains.delete(id);
  }
  for await (const { id } of shares.all()) {
    if (!created.shares.has(id)) continue;
    met.shares.push(id);
    await shares.revoke(id);
  }
  expect(met.domains.toSorted()).toEqual([...created.domains].toSorted());
  expect(met.shares.toSorted()).toEqual([...created.shares].toSorted());
});

test("clicks are listed over several pages, exported and written as CSV, and are the same", async () => {
  const { id, short_url } = await shorthop.links.create({ url: "https://example.com/clicked" });
  for (let i = 0; i < CLICKS; i++) {
    const headers = { "user-agent": CHROME, "x-forwarded-for": `8.8.8.${i}` };
    await fetch(short_url, { redirect: "manual", headers });
  }
  const query = { link_id: id };
  await eventually(
    async () => expect((await shorthop.clicks.list(query)).data).toHaveLength(CLICKS),
    60_000,
  );
  const listed = await Array.fromAsync(shorthop.clicks.all({ ...query, limit: 2 }));
  const exported = await Array.fromAsync(shorthop.clicks.export(query));
  expect(new Set(listed.map(({ id }) => id)).size).toBe(CLICKS);
  expect(exported.toSorted(byId)).toEqual(listed.toSorted(byId));
  expect((await shorthop.clicks.csv(query)).trim().split("\r\n").length).toBe(1 + CLICKS);
});

test("live clicks are those of the filter", async () => {
  const { id, short_url } = await shorthop.links.create({ url: "https://example.com/live" });
  const stop = new AbortController();
  const filters = { referrer: "wanted.com" };
  const stream = shorthop.analytics.stream(id, { filters, signal: stop.signal });
  const opening = setInterval(() => {
    for (const referer of ["https://unwanted.com/", "https://wanted.com/"]) {
      const headers = { "user-agent": CHROME, "x-forwarded-for": "8.8.4.4", referer };
      void fetch(short_url, { redirect: "manual", headers });
    }
  }, 500);
  const seen = [(await stream.next()).value, (await stream.next()).value];
  clearInterval(opening);
  stop.abort();
  expect(seen.map((click) => click?.referrer)).toEqual(["wanted.com", "wanted.com"]);
});
