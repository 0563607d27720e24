/**
 * Goal: links can be listed, changed and deleted, and every redirector serves a change right after
 * its response.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, codeOf, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/shared-stack.ts";

/** Latest propagation of a change to a redirector. */
const PROPAGATION_MS_MAX = 1_000;

const fullLink = linkSchema.extend({
  unique_clicks: z.int(),
  updated_at: z.string(),
  has_password: z.boolean(),
});

const stack = await forFile(useStack());
const { key } = await createAccount(stack, "enterprise", UNLIMITED);

const api = (path: string) => `${stack.info().api_url}${path}`;
async function create(body: Record<string, unknown>, owner = key) {
  const response = await call(api("/v1/links"), { key: owner, body });
  expect(response.status).toBe(201);
  return linkSchema.parse(response.body);
}

const patch = (id: string, body: unknown) =>
  call(api(`/v1/links/${id}`), { key, method: "PATCH", body });

async function update(id: string, body: unknown) {
  const response = await patch(id, body);
  expect(response.status).toBe(200);
  return fullLink.parse(response.body);
}

const follow = async (url: string) => {
  const { status, headers } = await call(url);
  return [status, headers.get("location")];
};

describe("an update of a link", () => {
  test("changes only what it contains, and redirectors serve it within a second", async () => {
    const link = await create({ url: "https://example.com/old", title: "Old", utm_source: "a" });
    expect(await follow(link.short_url)).toEqual([302, "https://example.com/old?utm_source=a"]);
    const titled = await update(link.id, { title: "New" });
    expect(titled).toMatchObject({ ...link, title: "New" });
    expect(titled.updated_at > link.created_at).toBe(true);
    await update(link.id, { url: "https://example.com/new", utm_source: null, utm_medium: "m" });
    await eventually(async () => {
      expect(await follow(link.short_url)).toEqual([302, "https://example.com/new?utm_medium=m"]);
    }, PROPAGATION_MS_MAX);
    const { body } = await call(api(`/v1/links/${link.id}`), { key });
    expect(body).toMatchObject({ title: "New", original_url: "https://example.com/new" });
  });

  test("without an effective change does not change updated_at either", async () => {
    const link = await create({ url: "https://example.com/same", title: "T" });
    for (const body of [{}, { title: "T" }, { url: "https://example.com/same" }]) {
      expect((await update(link.id, body)).updated_at).toBe(link.created_at);
    }
  });

  test("can set and remove expiry, title and password", async () => {
    const link = await create({
      url: "https://example.com/x",
      title: "T",
      expires_at: "2099-01-01T00:00:00Z",
    });
    expect(await update(link.id, { expires_at: null, title: null })).toMatchObject({
      expires_at: null,
      title: null,
    });
    expect(await update(link.id, { password: "secret" })).toMatchObject({ has_password: true });
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(401),
      PROPAGATION_MS_MAX,
    );
    expect(await update(link.id, { password: null })).toMatchObject({ has_password: false });
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(302),
      PROPAGATION_MS_MAX,
    );
  });

  test("can rename its alias, and the old alias becomes available", async () => {
    const link = await create({ url: "https://example.com/renamed", alias: "before" });
    expect((await follow(link.short_url))[0]).toBe(302);
    const renamed = await update(link.id, { alias: "after" });
    expect(renamed.alias).toBe("after");
    expect(await follow(renamed.short_url)).toEqual([302, "https://example.com/renamed"]);
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(404),
      PROPAGATION_MS_MAX,
    );
    const next = await create({ url: "https://example.com/next", alias: "before" });
    await eventually(async () => {
      expect(await follow(next.short_url)).toEqual([302, "https://example.com/next"]);
    }, PROPAGATION_MS_MAX);
  });
});

describe("the deletion of a link", () => {
  test("ends its redirect and makes its alias available", async () => {
    const link = await create({ url: "https://example.com/gone", alias: "gone-soon" });
    expect((await follow(link.short_url))[0]).toBe(302);
    const response = await call(api(`/v1/links/${link.id}`), { key, method: "DELETE" });
    expect([response.status, response.body]).toEqual([
      200,
      { success: true, message: expect.any(String) },
    ]);
    await eventually(
      async () => expect((await follow(link.short_url))[0]).toBe(404),
      PROPAGATION_MS_MAX,
    );
    expect(codeOf(await call(api(`/v1/links/${link.id}`), { key, method: "DELETE" }))).toEqual([
      404,
      "not_found",
    ]);
    const next = await create({ url: "https://example.com/again", alias: "gone-soon" });
    await eventually(async () => {
      expect(await follow(next.short_url)).toEqual([302, "https://example.com/again"]);
    }, PROPAGATION_MS_MAX);
  });

  test("and its creation again, repeatedly, never leave an old state behind", async () => {
    for (let i = 0; i < 50; i++) {
      const link = await create({ url: `https://example.com/round-${i}`, alias: "revolving" });
      await eventually(async () => {
        expect(await follow(link.short_url)).toEqual([302, `https://example.com/round-${i}`]);
      }, PROPAGATION_MS_MAX);
      expect((await call(api(`/v1/links/${link.id}`), { key, method: "DELETE" })).status).toBe(200);
    }
  });
});
