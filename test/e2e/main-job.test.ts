/**
 * Goal: the main job works end to end, over HTTP with real services: a link is created, redirects,
 * and its click is in the analytics.
 */
import { describe, expect, test } from "bun:test";

import { call, IPHONE, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

/** Latest appearance of a click in the analytics. */
const CLICK_VISIBLE_MS_MAX = 3_000;

const stack = await forFile(useStack());
const key = stack.info().api_key;

const api = (path: string) => `${stack.info().api_url}${path}`;
const short = (path: string) => `${stack.info().short_url}${path}`;

async function createLink(body: Record<string, unknown>) {
  const { status, body: link } = await call(api("/v1/links"), { key, body });
  expect(status).toBe(201);
  return linkSchema.parse(link);
}

const getSummary = async (id: string, query = "") =>
  summarySchema.parse((await call(api(`/v1/analytics/${id}${query}`), { key })).body);

describe("a short link", () => {
  test("is created, redirects at once, and its click is in the analytics within three seconds", async () => {
    const created = await call(api("/v1/links"), {
      key,
      body: { url: " https://example.com/landing?a=1 ", title: "Landing", utm_source: "mail" },
    });
    expect(created.status).toBe(201);
    const link = linkSchema.parse(created.body);
    expect(created.headers.get("location")).toBe(`/v1/links/${link.id}`);
    expect(link).toMatchObject({
      original_url: "https://example.com/landing?a=1",
      short_url: short(`/${link.alias}`),
      title: "Landing",
      clicks: 0,
      expires_at: null,
    });
    expect(link.id).toMatch(/^link_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(link.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const redirect = await call(link.short_url, {
      headers: {
        "user-agent": IPHONE,
        "x-forwarded-for": "8.8.8.8",
        referer: "https://news.example.com/a",
      },
    });
    expect(redirect.status).toBe(302);
    expect(redirect.headers.get("location")).toBe(
      "https://example.com/landing?a=1&utm_source=mail",
    );
    expect(redirect.headers.get("cache-control")).toBe("private, no-store");
    expect(redirect.body).toBe("");

    await eventually(async () => {
      const { summary, clicks_over_time, period } = await getSummary(link.id);
      expect(summary).toEqual({
        total_clicks: 1,
        unique_clicks: 1,
        avg_daily_clicks: 0,
        bot_clicks: 0,
      });
      expect(period).toBe("30d");
      expect(clicks_over_time).toHaveLength(30);
      expect(clicks_over_time.at(-1)).toMatchObject({ clicks: 1, unique: 1 });
    }, CLICK_VISIBLE_MS_MAX);
    await eventually(async () => {
      const { status, body } = await call(api(`/v1/links/${link.id}`), { key });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        ...link,
        clicks: 1,
        unique_clicks: 1,
        updated_at: link.created_at,
        has_password: false,
      });
    }, CLICK_VISIBLE_MS_MAX);
  });

  test("counts every redirect once, distinguishes visitors and counts bots separately", async () => {
    const link = await createLink({ url: "https://example.com/many" });
    const visit = (address: string, agent: string) =>
      call(link.short_url, { headers: { "x-forwarded-for": address, "user-agent": agent } });
    for (const address of ["81.2.69.142", "8.8.8.8", "8.8.4.4"]) {
      for (let i = 0; i < 20; i++) expect((await visit(address, IPHONE)).status).toBe(302);
    }
    for (let i = 0; i < 3; i++)
      await visit(
        "66.249.66.1",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
      );
    await fetch(link.short_url, { method: "HEAD", redirect: "manual" });
    await eventually(async () => {
      const { summary, clicks_over_time } = await getSummary(link.id, "?period=24h");
      expect(summary).toMatchObject({ total_clicks: 60, unique_clicks: 3, bot_clicks: 3 });
      expect(clicks_over_time).toHaveLength(24);
      expect(clicks_over_time.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(60);
    }, CLICK_VISIBLE_MS_MAX);
  });

  test("with a password asks for it, and accepts only that password", async () => {
    const link = await createLink({ url: "https://example.com/secret", password: "päss word" });
    const post = (password: string) =>
      call(link.short_url, {
        body: new URLSearchParams({ password }).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
    expect((await call(link.short_url)).status).toBe(401);
    expect((await post("wrong")).status).toBe(401);
    const right = await post("päss word");
    expect([right.status, right.headers.get("location")]).toEqual([
      302,
      "https://example.com/secret",
    ]);
    const { body } = await call(api(`/v1/links/${link.id}`), { key });
    expect(body).toMatchObject({ has_password: true });
    expect(JSON.stringify(body)).not.toContain("argon2");
  });
});

test("the account of a new stack is on the business plan, with its limits", async () => {
  const { body } = await call(api("/v1/limits"), { key });
  expect(body).toMatchObject({ plan: "business" });
  for (const limit of [
    { name: "burst", limit: 100, window: 1 },
    { name: "minute", limit: 1_000, window: 60 },
    { name: "day", limit: 100_000, window: 86_400 },
  ])
    expect(body).toHaveProperty("limits", expect.arrayContaining([expect.objectContaining(limit)]));
});
