/** Goal: a limited link leads on as often as it may, and what is left of its limit can be had. */
import { describe, expect, test } from "bun:test";

import { CHROME } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { DESTINATION, OwnLinks, RECOVERY_MS } from "../harness/own-links.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const links = await OwnLinks.start(stack);
// A redirector leases no click in the first seconds after its start.
const { alias } = await links.create({ max_clicks: 1 });
expect((await links.followSettled(alias)).status).toBe(302);

const BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

describe("a limited link", () => {
  test("leads on as often as it may, then to its own URL for that, and says so", async () => {
    const { id, alias } = await links.create({
      max_clicks: 2,
      expired_url: "https://example.com/over",
    });
    for (let i = 0; i < 2; i++) {
      const response = await links.followSettled(alias);
      expect([response.status, response.headers.get("location")]).toEqual([302, DESTINATION]);
    }
    const over = await links.followSettled(alias);
    expect(over.headers.get("location")).toBe("https://example.com/over");
    await eventually(
      async () =>
        expect(await links.read(id)).toMatchObject({ status: "limit_reached", clicks_left: 0 }),
      RECOVERY_MS,
    );
    await links.change(id, { expired_url: null });
    await eventually(async () => expect((await links.follow(alias)).status).toBe(410), RECOVERY_MS);
    // It reopens when the limit is raised, and has no limit without one.
    await links.change(id, { max_clicks: 3 });
    await eventually(async () => expect((await links.follow(alias)).status).toBe(302), RECOVERY_MS);
    await eventually(async () => expect((await links.follow(alias)).status).toBe(410), RECOVERY_MS);
    await links.change(id, { max_clicks: null });
    await eventually(async () => expect((await links.follow(alias)).status).toBe(302), RECOVERY_MS);
  });
});

/** Presses the button of the confirmation. */
const press = (alias: string, body = "confirm=yes", headers: Record<string, string> = {}) =>
  links.follow(alias, {
    method: "POST",
    body,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
  });

describe("the confirmation", () => {
  test("comes before the destination, and only its button spends and counts a click", async () => {
    const { id, alias } = await links.create({ max_clicks: 1, confirm: true });
    for (const userAgent of [CHROME, BOT]) {
      const page = await links.follow(alias, { headers: { "user-agent": userAgent } });
      expect([page.status, page.headers.get("location")]).toEqual([200, null]);
      expect(String(page.body)).toContain('<form method="post">');
      expect(String(page.body)).not.toContain(DESTINATION);
      expect(page.headers.get("cache-control")).toBe("private, no-store");
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
    // Nothing else than the button does.
    for (const [body, type] of [
      ["", "application/x-www-form-urlencoded"],
      ["confirm=no", "application/x-www-form-urlencoded"],
      ["confirm=yes", "text/plain"],
    ] as const)
      expect((await press(alias, body, { "content-type": type })).status).toBe(200);
    expect(await links.read(id)).toMatchObject({ clicks_left: 1, clicks: 0 });
    const pressed = await press(alias, undefined, { "user-agent": CHROME });
    expect([pressed.status, pressed.headers.get("location")]).toEqual([302, DESTINATION]);
    await eventually(async () => expect((await press(alias)).status).toBe(410), RECOVERY_MS);
    await eventually(async () => expect((await links.read(id))["clicks"]).toBe(1), RECOVERY_MS);
  });
});
