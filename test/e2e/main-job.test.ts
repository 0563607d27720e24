/**
 * Goal: the main job works end to end, over HTTP with real services: a link is created, redirects,
 * and its click is in the analytics.
 */
import { describe, expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { call, IPHONE, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

/** Latest appearance of a click in the analytics. */
const CLICK_VISIBLE_MS_MAX = 3_000;

const stack = await forFile(useStack());
const { api_url, api_key: key, short_url } = stack.info();
const { links, analytics } = createClient({ baseUrl: api_url, apiKey: key });

describe("a short link", () => {
  test("is created, redirects at once, and its click is in the analytics within three seconds", async () => {
    const created = await call(`${api_url}/v1/links`, {
      key,
      body: { url: " https://example.com/landing?a=1 ", title: "Landing", utm_source: "mail" },
    });
    expect(created.status).toBe(201);
    const link = linkSchema.parse(created.body);
    expect(created.headers.get("location")).toBe(`/v1/links/${link.id}`);
    expect(link).toMatchObject({
      original_url: "https://example.com/landing?a=1",
      short_url: `${short_url}/${link.alias}`,
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
      const { summary, clicks_over_time, period } = await analytics.summary(link.id);
      const counts = { total_clicks: 1, unique_clicks: 1, avg_daily_clicks: 0, bot_clicks: 0 };
      expect(summary).toMatchObject(counts);
      expect(period).toBe("30d");
      expect(clicks_over_time).toHaveLength(30);
      expect(clicks_over_time.at(-1)).toMatchObject({ clicks: 1, unique: 1 });
    }, CLICK_VISIBLE_MS_MAX);
    await eventually(async () => {
      expect(await links.get(link.id)).toMatchObject({
        ...link,
        clicks: 1,
        unique_clicks: 1,
        updated_at: link.created_at,
        has_password: false,
      });
    }, CLICK_VISIBLE_MS_MAX);
  });

  test("with a password asks for it, and accepts only that password", async () => {
    const link = await links.create({ url: "https://example.com/secret", password: "päss word" });
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
    const read = await links.get(link.id);
    expect(read.has_password).toBe(true);
    expect(JSON.stringify(read)).not.toContain("argon2");
  });
});

test("the account of a new stack is on the business plan, with its limits", async () => {
  const { body } = await call(`${api_url}/v1/limits`, { key });
  expect(body).toMatchObject({ plan: "business" });
  for (const limit of [
    { name: "burst", limit: 100, window: 1 },
    { name: "minute", limit: 1_000, window: 60 },
    { name: "day", limit: 100_000, window: 86_400 },
  ])
    expect(body).toHaveProperty("limits", expect.arrayContaining([expect.objectContaining(limit)]));
});
