/**
 * Goal: links can be listed, changed and deleted, and what a change says is what every redirector does
 * right afterwards.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { createAccount } from "../harness/admin.ts";
import { type Answer, call, errorAnswer, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";

/** How late a redirector may learn of a change. */
const PROPAGATED_MS = 1_000;

const PLENTY = { minute: 100_000, burst: 100_000, endpoints: { "POST /v1/links": 100_000 } };

const fullLink = linkAnswer.extend({
  unique_clicks: z.int(),
  updated_at: z.string(),
  has_password: z.boolean(),
});

let stack: Stack;
let key: string;

beforeAll(async () => {
  stack = await startStack();
  ({ key } = await createAccount(stack, "enterprise", PLENTY));
});
afterAll(async () => await stack[Symbol.asyncDispose]());

const api = (path: string) => `${stack.info().api_url}${path}`;
const codeOf = ({ status, body }: Answer) => [status, errorAnswer.parse(body).error.code];

async function create(body: Record<string, unknown>, owner = key) {
  const answer = await call(api("/v1/links"), { key: owner, body });
  expect(answer.status).toBe(201);
  return linkAnswer.parse(answer.body);
}

const patch = (id: string, body: unknown) =>
  call(api(`/v1/links/${id}`), { key, method: "PATCH", body });

async function changed(id: string, body: unknown) {
  const answer = await patch(id, body);
  expect(answer.status).toBe(200);
  return fullLink.parse(answer.body);
}

const follow = async (url: string) => {
  const { status, headers } = await call(url);
  return [status, headers.get("location")];
};

describe("changing a link", () => {
  test("changes what is sent and nothing else, and the redirector follows within a second", async () => {
    const link = await create({ url: "https://example.com/old", title: "Old", utm_source: "a" });
    expect(await follow(link.short_url)).toEqual([302, "https://example.com/old?utm_source=a"]);
    const titled = await changed(link.id, { title: "New" });
    expect(titled).toMatchObject({ ...link, title: "New" });
    expect(titled.updated_at > link.created_at).toBe(true);
    await changed(link.id, { url: "https://example.com/new", utm_source: null, utm_medium: "m" });
    await eventually(async () => {
      expect(await follow(link.short_url)).toEqual([302, "https://example.com/new?utm_medium=m"]);
    }, PROPAGATED_MS);
    const { body } = await call(api(`/v1/links/${link.id}`), { key });
    expect(body).toMatchObject({ title: "New", original_url: "https://example.com/new" });
  });

  test("an empty change is none: not even the time of change moves", async () => {
    const link = await create({ url: "https://example.com/same", title: "T" });
    for (const body of [{}, { title: "T" }, { url: "https://example.com/same" }]) {
      expect((await changed(link.id, body)).updated_at).toBe(link.created_at);
    }
  });

  test("sets and removes expiry, title and password", async () => {
    const link = await create({
      url: "https://example.com/x",
      title: "T",
      expires_at: "2099-01-01T00:00:00Z",
    });
    expect(await changed(link.id, { expires_at: null, title: null })).toMatchObject({
      expires_at: null,
      title: null,
    });
    expect(await changed(link.id, { password: "secret" })).toMatchObject({ has_password: true });
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(401),
      PROPAGATED_MS,
    );
    expect(await changed(link.id, { password: null })).toMatchObject({ has_password: false });
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(302),
      PROPAGATED_MS,
    );
  });

  test("a new alias takes over, and the old one is free", async () => {
    const link = await create({ url: "https://example.com/renamed", alias: "before" });
    expect((await follow(link.short_url))[0]).toBe(302);
    const renamed = await changed(link.id, { alias: "after" });
    expect(renamed.alias).toBe("after");
    expect(await follow(renamed.short_url)).toEqual([302, "https://example.com/renamed"]);
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(404),
      PROPAGATED_MS,
    );
    const next = await create({ url: "https://example.com/next", alias: "before" });
    await eventually(async () => {
      expect(await follow(next.short_url)).toEqual([302, "https://example.com/next"]);
    }, PROPAGATED_MS);
  });

  test.each<[unknown, string]>([
    [{ url: "nonsense" }, "invalid_url"],
    [{ url: null }, "invalid_request"],
    [{ alias: "a/b" }, "invalid_alias"],
    [{ alias: "v1" }, "invalid_alias"],
    [{ expires_at: "2020-01-01T00:00:00Z" }, "invalid_request"],
    [{ clicks: 5 }, "invalid_request"],
    [[], "invalid_request"],
  ])("%o is refused and changes nothing", async (body, code) => {
    const link = await create({ url: "https://example.com/kept" });
    expect(codeOf(await patch(link.id, body))).toEqual([400, code]);
    expect((await call(api(`/v1/links/${link.id}`), { key })).body).toMatchObject({
      ...link,
      updated_at: link.created_at,
    });
  });

  test("an alias in use is refused", async () => {
    await create({ url: "https://example.com/1", alias: "in-use" });
    const other = await create({ url: "https://example.com/2" });
    expect(codeOf(await patch(other.id, { alias: "in-use" }))).toEqual([400, "alias_taken"]);
  });
});

describe("deleting a link", () => {
  test("is for good: it redirects no more, and its alias can be taken", async () => {
    const link = await create({ url: "https://example.com/gone", alias: "gone-soon" });
    expect((await follow(link.short_url))[0]).toBe(302);
    const answer = await call(api(`/v1/links/${link.id}`), { key, method: "DELETE" });
    expect([answer.status, answer.body]).toEqual([
      200,
      { success: true, message: expect.any(String) },
    ]);
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(404),
      PROPAGATED_MS,
    );
    expect(codeOf(await call(api(`/v1/links/${link.id}`), { key, method: "DELETE" }))).toEqual([
      404,
      "not_found",
    ]);
    const again = await create({ url: "https://example.com/again", alias: "gone-soon" });
    await eventually(async () => {
      expect(await follow(again.short_url)).toEqual([302, "https://example.com/again"]);
    }, PROPAGATED_MS);
  });

  test("and making it anew, over and over, never leaves an old state behind", async () => {
    for (let i = 0; i < 50; i++) {
      const link = await create({ url: `https://example.com/round-${i}`, alias: "revolving" });
      await eventually(async () => {
        expect(await follow(link.short_url)).toEqual([302, `https://example.com/round-${i}`]);
      }, PROPAGATED_MS);
      expect((await call(api(`/v1/links/${link.id}`), { key, method: "DELETE" })).status).toBe(200);
    }
  });
});

test("of two hundred who want one alias at once, one gets it", async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      call(api("/v1/links"), { key, body: { url: `https://example.com/${i}`, alias: "wanted" } }),
    ),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  const refused = answers.filter(({ status }) => status !== 201);
  expect(new Set(refused.map((answer) => codeOf(answer).join(" ")))).toEqual(
    new Set(["400 alias_taken"]),
  );
});

describe("listing links", () => {
  const listAnswer = z.object({
    data: z.array(linkAnswer),
    pagination: z.strictObject({
      page: z.int(),
      limit: z.int(),
      total: z.int(),
      total_pages: z.int(),
    }),
  });
  let owner: string;
  const names = Array.from({ length: 25 }, (_, i) => `item-${String(i).padStart(2, "0")}`);

  beforeAll(async () => {
    ({ key: owner } = await createAccount(stack, "enterprise", PLENTY));
    for (const alias of names) {
      await create(
        {
          url: `https://example.com/${alias}`,
          alias,
          title: alias === "item-07" ? "100%_Üml\\aut" : null,
        },
        owner,
      );
    }
  });

  async function list(query: string) {
    const answer = await call(api(`/v1/links${query}`), { key: owner });
    expect(answer.status).toBe(200);
    const { data, pagination } = listAnswer.parse(answer.body);
    return { aliases: data.map(({ alias }) => alias), pagination, data };
  }

  test("gives twenty, newest first, unless told otherwise", async () => {
    const { aliases, pagination } = await list("");
    expect(aliases).toEqual(names.toReversed().slice(0, 20));
    expect(pagination).toEqual({ page: 1, limit: 20, total: 25, total_pages: 2 });
    expect((await list("?order=asc&limit=3")).aliases).toEqual(names.slice(0, 3));
  });

  test("pages hold every link once; beyond the last there is nothing", async () => {
    const seen: string[] = [];
    for (let page = 1; page <= 4; page++)
      seen.push(...(await list(`?limit=7&page=${page}`)).aliases);
    expect(seen).toEqual(names.toReversed());
    const { aliases, pagination } = await list("?limit=7&page=5");
    expect([aliases, pagination.total]).toEqual([[], 25]);
  });

  test.each([
    ["item-0", 10],
    ["ITEM-1", 10],
    ["example.com/item-24", 1],
    ["üml", 1],
    ["%", 1],
    ["100%_", 1],
    ["\\", 1],
    ["item_0", 0],
    ["nothing", 0],
  ])("search %p finds %i, by title, alias or URL, taken literally", async (search, count) => {
    const { pagination } = await list(`?search=${encodeURIComponent(search)}`);
    expect(pagination.total).toBe(count);
  });

  test("sorts by clicks", async () => {
    const [popular] = (await list("?search=item-05")).data;
    for (let i = 0; i < 3; i++) await call(popular?.short_url ?? "");
    await eventually(async () => {
      const { data } = await list("?sort=clicks&limit=1");
      expect(data[0]).toMatchObject({ alias: "item-05", clicks: 3 });
    }, 5_000);
    const all = (await list("?sort=clicks&limit=100&order=asc")).data;
    expect(all.at(-1)?.alias).toBe("item-05");
    expect(all).toHaveLength(25);
  });

  test.each(["page=0", "page=x", "limit=0", "limit=101", "sort=title", "order=up"])(
    "refuses %s",
    async (query) => {
      const answer = await call(api(`/v1/links?${query}`), { key: owner });
      expect(codeOf(answer)).toEqual([400, "invalid_request"]);
      expect(JSON.stringify(answer.body)).toContain(query.split("=")[0] ?? "?");
    },
  );

  test("shows an account its own links alone", async () => {
    const { key: stranger } = await createAccount(stack, "free");
    const { body } = await call(api("/v1/links"), { key: stranger });
    expect(body).toEqual({
      data: [],
      pagination: { page: 1, limit: 20, total: 0, total_pages: 0 },
    });
  });
});
