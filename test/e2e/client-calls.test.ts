/**
 * Goal: what the client adds to the API (lists of any length, iterators, exports) is right on a
 * real one.
 */
import { beforeAll, describe, expect, test } from "bun:test";

import { createClient, ShorthopError } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { CHROME } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

/** More than two requests of 100. */
const LINKS = 230;
const CLICKS = 7;
/** Tells the clicks from those of other tests. */
const TAG = "clicked";

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const shorthop = createClient({ baseUrl: stack.info().api_url, apiKey: key });

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "no error",
    (error: unknown) => (error instanceof ShorthopError ? error.code : error),
  );

const sumOf = ({ heatmap }: { heatmap: number[][] }): number =>
  heatmap.flat().reduce((sum, clicks) => sum + clicks, 0);

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

/** Creates links with a tag; returns their ids in order. */
async function createTagged(count: number, tag: string): Promise<string[]> {
  const { data, created } = await shorthop.links.createMany(
    Array.from({ length: count }, (_, i) => ({
      url: `https://example.com/${tag}/${i}`,
      tags: [tag],
    })),
  );
  expect(created).toBe(count);
  expect(data.map(({ index }) => index)).toEqual(data.map((_, i) => i));
  return data.flatMap((item) => ("link" in item ? [item.link.id] : []));
}

const idsOf = async (tag: string): Promise<string[]> =>
  (await Array.fromAsync(shorthop.links.all({ tag }))).map(({ id }) => id);

describe("lists of more links than one request takes", () => {
  test("are created, changed and deleted, each link on its own and under its own position", async () => {
    const ids = await createTagged(LINKS, "many");
    expect((await idsOf("many")).toSorted()).toEqual(ids.toSorted());

    // One in the second request and one in the third do not exist.
    const withUnknown = ids.map((id, i) => (i === 150 || i === 229 ? "link_unknown" : id));
    const { data, ...counts } = await shorthop.links.updateMany(
      withUnknown.map((id, i) => ({ id, title: `Number ${i}` })),
    );
    expect(counts).toEqual({ updated: LINKS - 2, failed: 2 });
    expect(
      data.flatMap((item) => ("error" in item ? [[item.index, item.error.code]] : [])),
    ).toEqual([
      [150, "not_found"],
      [229, "not_found"],
    ]);
    expect(data.map(({ index }) => index)).toEqual(ids.map((_, i) => i));
    for (const i of [0, 99, 100, 228]) {
      expect((await shorthop.links.get(ids[i] ?? "")).title).toBe(`Number ${i}`);
    }

    const deletion = await shorthop.links.deleteMany(withUnknown);
    expect([deletion.deleted, deletion.failed]).toEqual([LINKS - 2, 2]);
    expect((await idsOf("many")).toSorted()).toEqual([ids[150] ?? "", ids[229] ?? ""].toSorted());
  });

  test("are refused by the API when they are empty", async () => {
    const { links } = shorthop;
    for (const call of [
      () => links.createMany([]),
      () => links.checkMany([]),
      () => links.updateMany([]),
      () => links.deleteMany([]),
    ])
      expect(await codeOf(call())).toBe("invalid_request");
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

test("a change by ETag is refused when another one came first", async () => {
  const { id } = await shorthop.links.create({
    url: "https://example.com/etag",
    utm_source: "mail",
  });
  expect((await shorthop.links.get(id, { include: "settings" })).utm_source).toBe("mail");
  const { link, etag } = await shorthop.links.getWithEtag(id);
  expect(link.id).toBe(id);
  await shorthop.links.update(id, { title: "First" }, { ifMatch: etag });
  expect(await codeOf(shorthop.links.update(id, { title: "Second" }, { ifMatch: etag }))).toBe(
    "precondition_failed",
  );
  expect(await codeOf(shorthop.links.delete(id, { ifMatch: etag }))).toBe("precondition_failed");
  const current = await shorthop.links.getWithEtag(id);
  expect(current.link.title).toBe("First");
  await shorthop.links.delete(id, { ifMatch: current.etag });
});

describe("clicks", () => {
  let link: { id: string; short_url: string };
  beforeAll(async () => {
    link = await shorthop.links.create({ url: "https://example.com/clicked", tags: [TAG] });
    for (let i = 0; i < CLICKS; i++) {
      const headers = { "user-agent": CHROME, "x-forwarded-for": `8.8.8.${i}` };
      await fetch(`${link.short_url}?utm_source=source-${i % 3}`, { redirect: "manual", headers });
    }
    // Clicks and their rollups do not become visible in the same moment.
    await eventually(async () => {
      const { summary } = await shorthop.analytics.summary(link.id);
      const { data } = await shorthop.clicks.list({ link_id: link.id });
      const ofLink = await shorthop.analytics.times(link.id);
      const tagged = await shorthop.analytics.accountTimes({ period: "7d", tag: TAG });
      const counts = [summary.total_clicks, data.length, sumOf(ofLink), sumOf(tagged)];
      expect(counts).toEqual([CLICKS, CLICKS, CLICKS, CLICKS]);
    }, 60_000);
  });

  test("are listed over several pages, exported and written as CSV, and are the same", async () => {
    const listed = await Array.fromAsync(shorthop.clicks.all({ link_id: link.id, limit: 2 }));
    const exported = await Array.fromAsync(shorthop.clicks.export({ link_id: link.id }));
    expect(listed.length).toBe(CLICKS);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(CLICKS);
    expect(exported.toSorted(byId)).toEqual(listed.toSorted(byId));
    expect(listed[0]).toMatchObject({ link_id: link.id, class: "human", browser: "Chrome" });
    const csv = await shorthop.clicks.csv({ link_id: link.id });
    expect(csv.trim().split("\r\n").length).toBe(1 + CLICKS);
    expect(await codeOf(shorthop.clicks.export({ link_id: "link_none" }).next())).toBe("not_found");
  });

  test("are broken down by two dimensions, over several pages, of a link and of the account", async () => {
    const query = { by: "utm_source,browser", limit: 1 } as const;
    const expected = [
      ["source-0", 3],
      ["source-1", 2],
      ["source-2", 2],
    ];
    const page = await shorthop.analytics.breakdown(link.id, query);
    expect(page.data.length).toBe(1);
    for (const entries of [
      shorthop.analytics.breakdownAll(link.id, query),
      shorthop.analytics.accountBreakdownAll({ ...query, tag: TAG }),
    ]) {
      const found = (await Array.fromAsync(entries)).map(({ values, clicks }) => [
        values["utm_source"],
        clicks,
      ]);
      expect(found).toEqual(expected);
    }
    const csv = await shorthop.analytics.csv.breakdown(link.id, { by: "utm_source,browser" });
    expect(csv).toStartWith(
      "utm_source,browser,clicks,unique_clicks,percentage\r\nsource-0,Chrome,3,",
    );
  });

  test("are counted by weekday and hour", async () => {
    for (const { heatmap, last_click_at } of [
      await shorthop.analytics.times(link.id),
      await shorthop.analytics.accountTimes({ period: "7d", tag: TAG }),
    ]) {
      expect(sumOf({ heatmap })).toBe(CLICKS);
      expect(Date.parse(last_click_at ?? "")).toBeGreaterThan(Date.now() - 600_000);
    }
    const csv = await shorthop.analytics.csv.accountTimes();
    expect(csv.trim().split("\r\n").length).toBe(1 + 7 * 24);
  });

  test("are shared with people without a key, who need the password if there is one", async () => {
    const visitor = createClient({ baseUrl: stack.info().api_url });
    const { id, token } = await shorthop.shares.create({
      link_id: link.id,
      password: "correct horse",
    });
    expect(await codeOf(visitor.shared.get(token))).toBe("unauthorized");
    expect(await codeOf(visitor.shared.unlock(token, "wrong"))).toBe("forbidden");
    const { access_token: access } = await visitor.shared.unlock(token, "correct horse");
    const { summary, period } = await visitor.shared.get(token, { access, period: "7d" });
    expect([summary.total_clicks, period]).toEqual([CLICKS, "7d"]);
    await shorthop.shares.update(id, { password: null });
    expect((await visitor.shared.get(token)).summary.total_clicks).toBe(CLICKS);
    expect((await Array.fromAsync(shorthop.shares.all())).map((share) => share.id)).toContain(id);
    await shorthop.shares.revoke(id);
    expect(await codeOf(visitor.shared.get(token))).toBe("not_found");
  });
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
