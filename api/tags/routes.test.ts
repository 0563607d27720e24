/**
 * Goal: tags of any name are reached by their path, a list continues only in the order in which it
 * began, and what is no change of a tag changes nothing.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { createAccount, UNLIMITED } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { type CallOptions, codeOf } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";

const api = await forFile(ApiInProcess.start());
const { key } = await createAccount(api, "enterprise", UNLIMITED);

const send = (path: string, options: CallOptions = {}) =>
  api.send(`/v1/tags${path}`, { key, ...options });

const addLink = (tags: readonly string[], by = key) =>
  api.send("/v1/links", { key: by, body: { url: "https://example.com/", tags } });

const listed = z.object({
  data: z.array(z.looseObject({ name: z.string() })),
  next_cursor: z.string().nullable(),
});

test("a list continues by its cursor in the same order, and in no other", async () => {
  const { key: own } = await createAccount(api, "enterprise", UNLIMITED);
  for (const tags of [["spring", "spread"], ["spring"], ["other"]]) await addLink(tags, own);
  const list = async (query: string) => listed.parse((await send(query, { key: own })).body);
  const { data, next_cursor: cursor } = await list("?sort=links&search=Sp&limit=1");
  expect(data).toEqual([{ name: "spring", color: null, links: 2, clicks: 0 }]);
  const next = await list(`?sort=links&search=Sp&starting_after=${cursor}`);
  expect(next).toMatchObject({ data: [{ name: "spread" }], next_cursor: null });
  for (const sort of ["name", "clicks"]) {
    const other = await send(`?sort=${sort}&starting_after=${cursor}`, { key: own });
    expect(codeOf(other)).toEqual([400, "invalid_request"]);
  }
});

test.each(["spring", "a/b", "50%", "merge", "?x#y", "ü ✓", "%2F", "Cafe\u0301"])(
  "the tag %p is reached by its name",
  async (name) => {
    await addLink([name]);
    const path = `/${encodeURIComponent(name)}`;
    const changed = await send(path, { method: "PATCH", body: { color: "red" } });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { name: name.normalize("NFC"), color: "red" },
    ]);
    expect((await send(path, { method: "DELETE" })).status).toBe(200);
    expect((await send(path, { method: "DELETE" })).status).toBe(404);
  },
);

test("a request that is no change of a tag is rejected, and changes nothing", async () => {
  const { key: own } = await createAccount(api, "enterprise", UNLIMITED);
  await addLink(["here"], own);
  const long = "x".repeat(51);
  const cases: [string, string, unknown, number][] = [
    ["PATCH", "/here", { name: "" }, 400],
    ["PATCH", "/here", { name: " " }, 400],
    ["PATCH", "/here", { name: long }, 400],
    ["PATCH", "/here", { name: "a\u0000b" }, 400],
    ["PATCH", "/here", { name: "a\u202eb" }, 400],
    ["PATCH", "/here", { name: null }, 400],
    ["PATCH", "/here", { name: ".." }, 400],
    ["PATCH", "/here", { color: "#ff0000" }, 400],
    ["PATCH", "/here", { color: "Red" }, 400],
    ["PATCH", "/here", { merge: "yes" }, 400],
    ["PATCH", "/here", { links: 7 }, 400],
    ["PATCH", "/none", {}, 404],
    ["PATCH", "/none", { name: "here", merge: true }, 404],
    ["PATCH", "/%00", { color: "red" }, 404],
    ["PATCH", `/${"x".repeat(2_000)}`, { color: "red" }, 404],
    ["DELETE", "/none", undefined, 404],
    ["DELETE", "/%00", undefined, 404],
    ["GET", `?search=${long}`, undefined, 400],
    ["GET", "?limit=101", undefined, 400],
    ["GET", "?limit=0", undefined, 400],
    ["GET", "?sort=color", undefined, 400],
    ["GET", "?tag=here", undefined, 400],
    ["GET", "?starting_after=nonsense", undefined, 400],
    ["GET", "?search=%00", undefined, 200],
  ];
  for (const [method, path, body, status] of cases) {
    const response = await send(path, {
      method,
      key: own,
      ...(body === undefined ? {} : { body }),
    });
    expect([method, path, body, response.status]).toEqual([method, path, body, status]);
  }
  expect((await send("?sort=name", { key: own })).body).toMatchObject({
    data: [{ name: "here", color: null, links: 1 }],
  });
});
