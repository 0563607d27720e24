/**
 * Goal: an account sees all of its tags with their links and clicks, and changes them on all links
 * at once.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { type Client, createClient, ShorthopError } from "../../clients/typescript/src/index.ts";
import { createAccount, createKey, type NewAccount } from "../harness/admin.ts";
import { type ApiResponse, call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

const UNLIMITED = {
  minute: 100_000,
  burst: 100_000,
  endpoints: { "POST /v1/links": 100_000 },
};

const BROWSER =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36";

/** Names that a path must encode, or that mean something in SQL or as a route. */
const ODD_NAMES = ["a/b", "50%", "merge", "?x=1#y", "Ünïcode ✓", "it's", "back\\slash"];

const URL_OF_ALL = "https://example.com/tagged";

let stack: SharedStack;
beforeAll(async () => void (stack = await useStack()));
afterAll(async () => await stack[Symbol.asyncDispose]());

const clientFor = (key: string): Client =>
  createClient({ baseUrl: stack.info().api_url, apiKey: key });

async function newAccount(): Promise<{ account: NewAccount; shorthop: Client }> {
  const account = await createAccount(stack, "enterprise", UNLIMITED);
  return { account, shorthop: clientFor(account.key) };
}

const createTagged = (shorthop: Client, ...lists: string[][]) =>
  Promise.all(lists.map((tags) => shorthop.links.create({ url: URL_OF_ALL, tags })));

const countsOf = async (shorthop: Client) =>
  (await Array.fromAsync(shorthop.tags.all())).map(({ name, links }) => [name, links]);

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof ShorthopError ? error.code : error),
  );

const send = (key: string, method: string, path: string, body?: unknown): Promise<ApiResponse> =>
  call(`${stack.info().api_url}${path}`, {
    key,
    method,
    ...(body === undefined ? {} : { body }),
  });

const errorSchema = z.object({
  error: z.object({ code: z.string(), param: z.string().optional() }),
});

describe("tags", () => {
  test("are those of all links, archived ones too, before anybody clicks", async () => {
    const { shorthop } = await newAccount();
    expect((await shorthop.tags.list()).data).toEqual([]);
    const [first] = await createTagged(shorthop, ["spring", "mail"], ["spring"], []);
    await shorthop.links.update(first?.id ?? "", { archived: true });
    expect((await shorthop.tags.list()).data).toEqual([
      { name: "mail", color: null, links: 1, clicks: 0 },
      { name: "spring", color: null, links: 2, clicks: 0 },
    ]);
    await shorthop.links.delete(first?.id ?? "");
    expect(await countsOf(shorthop)).toEqual([["spring", 1]]);
  });

  test("have the clicks that the list of links shows", async () => {
    const { shorthop } = await newAccount();
    const links = await createTagged(shorthop, ["both", "first"], ["both"]);
    for (const { short_url } of links)
      expect((await call(short_url, { headers: { "user-agent": BROWSER } })).status).toBe(302);
    await eventually(async () => {
      const { data } = await shorthop.tags.list({ sort: "clicks" });
      expect(data.map(({ name, clicks }) => [name, clicks])).toEqual([
        ["both", 2],
        ["first", 1],
      ]);
    }, 30_000);
  });

  test("are listed in each order, searched, and continued by cursor", async () => {
    const { account, shorthop } = await newAccount();
    await createTagged(shorthop, ["a", "B", "ab"], ["ab", "c"], ["ab", "c"]);
    const namesOf = async (query: Parameters<Client["tags"]["all"]>[0]) =>
      (await Array.fromAsync(shorthop.tags.all(query))).map(({ name }) => name);
    for (const limit of [1, 2, 100]) {
      expect(await namesOf({ limit })).toEqual(["B", "a", "ab", "c"]);
      expect(await namesOf({ sort: "links", limit })).toEqual(["ab", "c", "B", "a"]);
      expect(await namesOf({ sort: "clicks", limit })).toEqual(["B", "a", "ab", "c"]);
    }
    expect(await namesOf({ search: "b" })).toEqual(["B", "ab"]);
    const { next_cursor } = await shorthop.tags.list({ limit: 1 });
    const path = `/v1/tags?sort=links&starting_after=${next_cursor ?? ""}`;
    const { status, body } = await send(account.key, "GET", path);
    expect([status, errorSchema.parse(body).error.param]).toEqual([400, "starting_after"]);
  });

  test("with any name can be coloured, renamed and deleted", async () => {
    const { shorthop } = await newAccount();
    for (const name of ODD_NAMES) {
      const [link] = await createTagged(shorthop, [name, "kept"]);
      expect(await shorthop.tags.update(name, { color: "teal" })).toMatchObject({ name, links: 1 });
      const renamed = await shorthop.tags.update(name, { name: `${name}2` });
      expect(renamed).toMatchObject({ name: `${name}2`, color: "teal", changed: 1, done: true });
      const changed = await shorthop.links.get(link?.id ?? "");
      expect(changed.tags).toEqual([`${name}2`, "kept"]);
      expect(await shorthop.tags.delete(`${name}2`)).toBe(1);
      expect((await shorthop.links.get(link?.id ?? "")).tags).toEqual(["kept"]);
      expect(await codeOf(shorthop.tags.delete(name))).toBe("not_found");
    }
  });

  test("become one only when asked to", async () => {
    const { shorthop } = await newAccount();
    const [both] = await createTagged(shorthop, ["x", "old", "new"], ["old"], ["new"]);
    expect(await codeOf(shorthop.tags.update("old", { name: "new" }))).toBe("tag_taken");
    expect(await countsOf(shorthop)).toEqual([
      ["new", 2],
      ["old", 2],
      ["x", 1],
    ]);
    const merged = await shorthop.tags.update("old", { name: "new", merge: true });
    expect(merged).toMatchObject({ name: "new", links: 3, changed: 2 });
    expect((await shorthop.links.get(both?.id ?? "")).tags).toEqual(["x", "new"]);
    expect(await codeOf(shorthop.tags.update("old", { name: "other" }))).toBe("not_found");
  });

  test("keep their links redirecting while they change", async () => {
    const { shorthop } = await newAccount();
    const [link] = await createTagged(shorthop, ["moving"]);
    await shorthop.tags.update("moving", { name: "moved" });
    await shorthop.tags.delete("moved");
    const { status, headers } = await call(link?.short_url ?? "");
    expect([status, headers.get("location")]).toEqual([302, URL_OF_ALL]);
  });
});

describe("an account", () => {
  test("neither sees nor changes the tags of another, or of its other mode", async () => {
    const { account, shorthop } = await newAccount();
    const stranger = await newAccount();
    const testKey = await createKey(stack, account.id, "links:read,links:write", { type: "test" });
    const others = [stranger.shorthop, clientFor(testKey.key)];
    const [link] = await createTagged(shorthop, ["mine"]);
    for (const other of others) {
      expect(await countsOf(other)).toEqual([]);
      expect(await codeOf(other.tags.update("mine", { color: "red" }))).toBe("not_found");
      expect(await codeOf(other.tags.update("mine", { name: "yours" }))).toBe("not_found");
      expect(await codeOf(other.tags.delete("mine"))).toBe("not_found");
      await createTagged(other, ["mine"]);
      await other.tags.update("mine", { name: "theirs", color: "red" });
    }
    expect((await shorthop.tags.list()).data).toMatchObject([{ name: "mine", color: null }]);
    expect((await shorthop.links.get(link?.id ?? "")).tags).toEqual(["mine"]);
  });

  test("reads tags with links:read, and changes them with links:write", async () => {
    const { account, shorthop } = await newAccount();
    await createTagged(shorthop, ["kept"]);
    const keys = await Promise.all(
      ["links:read", "links:write", "analytics:read"].map((scope) =>
        createKey(stack, account.id, scope),
      ),
    );
    const requests = [
      ["GET", "/v1/tags"],
      ["PATCH", "/v1/tags/kept", { color: "blue" }],
      ["DELETE", "/v1/tags/none"],
    ] as const;
    const statuses = await Promise.all(
      keys.map(({ key }) =>
        Promise.all(
          requests.map(
            async ([method, path, body]) => (await send(key, method, path, body)).status,
          ),
        ),
      ),
    );
    expect(statuses).toEqual([
      [200, 403, 403],
      [403, 200, 404],
      [403, 403, 403],
    ]);
  });
});

test("a request that is no change of a tag is rejected, and changes nothing", async () => {
  const { account, shorthop } = await newAccount();
  await createTagged(shorthop, ["here"]);
  const long = "x".repeat(51);
  const cases: [string, string, unknown, number][] = [
    ["PATCH", "/v1/tags/here", { name: "" }, 400],
    ["PATCH", "/v1/tags/here", { name: " " }, 400],
    ["PATCH", "/v1/tags/here", { name: long }, 400],
    ["PATCH", "/v1/tags/here", { name: "a\u0000b" }, 400],
    ["PATCH", "/v1/tags/here", { name: "a\u202eb" }, 400],
    ["PATCH", "/v1/tags/here", { name: null }, 400],
    ["PATCH", "/v1/tags/here", { color: "#ff0000" }, 400],
    ["PATCH", "/v1/tags/here", { color: "Red" }, 400],
    ["PATCH", "/v1/tags/here", { merge: "yes" }, 400],
    ["PATCH", "/v1/tags/here", { links: 7 }, 400],
    ["PATCH", "/v1/tags/none", {}, 404],
    ["PATCH", "/v1/tags/none", { name: "here", merge: true }, 404],
    ["PATCH", "/v1/tags/%00", { color: "red" }, 404],
    ["PATCH", `/v1/tags/${"x".repeat(2_000)}`, { color: "red" }, 404],
    ["DELETE", "/v1/tags/none", undefined, 404],
    ["DELETE", "/v1/tags/%00", undefined, 404],
    ["GET", `/v1/tags?search=${long}`, undefined, 400],
    ["GET", "/v1/tags?limit=101", undefined, 400],
    ["GET", "/v1/tags?limit=0", undefined, 400],
    ["GET", "/v1/tags?sort=color", undefined, 400],
    ["GET", "/v1/tags?tag=here", undefined, 400],
    ["GET", "/v1/tags?starting_after=nonsense", undefined, 400],
    ["GET", "/v1/tags?search=%00", undefined, 200],
  ];
  for (const [method, path, body, status] of cases) {
    const response = await send(account.key, method, path, body);
    expect([method, path, body, response.status]).toEqual([method, path, body, status]);
  }
  expect((await shorthop.tags.list()).data).toEqual([
    { name: "here", color: null, links: 1, clicks: 0 },
  ]);
});
