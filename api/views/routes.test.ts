/**
 * Goal: views are listed, saved and deleted by the right keys, and what no view can be is rejected.
 */
import { describe, expect, test } from "bun:test";

import { createAccount, UNLIMITED } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { codeOf } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";

const api = await forFile(ApiInProcess.start());
const { key } = await createAccount(api, "enterprise", UNLIMITED);

const put = (name: string, body: unknown, by = key) =>
  api.send(`/v1/views/${name}`, { method: "PUT", key: by, body });

/** All views. */
async function listSaved(by = key): Promise<unknown[]> {
  const { status, body } = await api.send("/v1/views", { key: by });
  expect(status).toBe(200);
  return (body as { data: unknown[] }).data;
}

describe("/v1/views", () => {
  test("are saved under the name in the path, whatever characters it has, listed and deleted", async () => {
    const { key: own } = await createAccount(api, "enterprise", UNLIMITED);
    const name = "Müller & Söhne / 50 %";
    const view = { name, query: "utm_source=a%2Fb&x=" };
    const times = { created_at: expect.any(String), updated_at: expect.any(String) };
    const { status, body } = await put(encodeURIComponent(name), { query: view.query }, own);
    expect([status, body]).toMatchObject([200, view]);
    expect(await listSaved(own)).toEqual([{ ...view, ...times }]);
    const path = `/v1/views/${encodeURIComponent(name)}`;
    expect((await api.send(path, { method: "DELETE", key: own })).status).toBe(200);
    expect(await listSaved(own)).toEqual([]);
  });

  test.each([
    ["a query with a question mark", { query: "?period=7d" }],
    ["a query with a space", { query: "tag=a b" }],
    ["a query with other characters than ASCII", { query: "tag=ä" }],
    ["a query of 8,001 characters", { query: "x".repeat(8_001) }],
    ["no query", {}],
    ["an unknown field", { query: "", name: "Other" }],
  ])("rejects %s, and changes nothing", async (_, body) => {
    const before = await listSaved();
    expect(codeOf(await put("Phones", body))).toEqual([400, "invalid_request"]);
    expect(await listSaved()).toEqual(before);
  });

  test("takes queries of up to 8,000 characters, also an empty one", async () => {
    expect((await put("Long", { query: "x".repeat(8_000) })).status).toBe(200);
    expect((await put("All", { query: "" })).status).toBe(200);
  });

  test.each(["%20", "x".repeat(101), "a%00b"])("rejects the name %p", async (name) => {
    expect(codeOf(await put(name, { query: "period=7d" }))).toEqual([400, "invalid_request"]);
  });
});
