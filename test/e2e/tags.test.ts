/**
 * Goal: a change of tags neither touches redirects nor accepts what is none. Their counts, lists and
 * changes are tested in `api/tags/tags.test.ts`.
 */
import { describe, expect, test } from "bun:test";

import { type Client, createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, type NewAccount, UNLIMITED } from "../harness/admin.ts";
import { type ApiResponse, call } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/shared-stack.ts";

const URL_OF_ALL = "https://example.com/tagged";

const stack = await forFile(useStack());

const clientFor = (key: string): Client =>
  createClient({ baseUrl: stack.info().api_url, apiKey: key });

async function newAccount(): Promise<{ account: NewAccount; shorthop: Client }> {
  const account = await createAccount(stack, "enterprise", UNLIMITED);
  return { account, shorthop: clientFor(account.key) };
}

const createTagged = (shorthop: Client, ...lists: string[][]) =>
  Promise.all(lists.map((tags) => shorthop.links.create({ url: URL_OF_ALL, tags })));

const send = (key: string, method: string, path: string, body?: unknown): Promise<ApiResponse> =>
  call(`${stack.info().api_url}${path}`, {
    key,
    method,
    ...(body === undefined ? {} : { body }),
  });

describe("tags", () => {
  test("keep their links redirecting while they change", async () => {
    const { shorthop } = await newAccount();
    const [link] = await createTagged(shorthop, ["moving"]);
    await shorthop.tags.update("moving", { name: "moved" });
    await shorthop.tags.delete("moved");
    const { status, headers } = await call(link?.short_url ?? "");
    expect([status, headers.get("location")]).toEqual([302, URL_OF_ALL]);
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
