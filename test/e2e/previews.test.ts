/**
 * Goal: agents get a link's card and people its destination; who asks first learns where a link
 * leads.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { rawRequest } from "../harness/raw-request.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

let stack: SharedStack;
let account: OwnLinks;

beforeAll(async () => {
  stack = await useStack();
  account = await OwnLinks.start(stack);
});
afterAll(async () => await stack[Symbol.asyncDispose]());

const AGENTS = {
  Facebook: "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
  iMessage:
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
  WhatsApp: "WhatsApp/2.23.20.0 A",
  X: "Twitterbot/1.0",
  LinkedIn: "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
  Slack: "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
  Discord: "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
  Telegram: "TelegramBot (like TwitterBot)",
  Teams:
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
  Bluesky: "Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)",
  Mastodon: "http.rb/5.2.0 (Mastodon/4.3.0; +https://mastodon.social/)",
};

const OTHERS = {
  "a browser":
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36",
  "the browser in WhatsApp":
    "Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.122 Mobile Safari/537.36 WhatsApp/2.24.13.78",
  Googlebot: "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
  Bing: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/103.0.5060.134 Safari/537.36",
  curl: "curl/8.9.1",
  "nobody named": "",
};

const PREVIEW = {
  title: `Spring "sale" <b>`,
  description: "Everything & more",
  image: "https://example.com/spring.png?a=1&b=2",
};

const agent = AGENTS.X;

const get = (alias: string, userAgent: string, path = "", origin = stack.info().short_url) =>
  rawRequest(origin, `/${alias}${path}`, { "user-agent": userAgent });

/** The content of a tag of Open Graph; undefined for none. */
const ogOf = (html: string, name: string): string | undefined =>
  new RegExp(`<meta property="og:${name}" content="([^"]*)">`).exec(html)?.[1];

describe("a link with a preview", () => {
  test.each(Object.entries(AGENTS))("shows its card to %s", async (_, userAgent) => {
    const { alias } = await account.create({ preview: PREVIEW });
    const { status, location, head, body } = await get(alias, userAgent);
    expect([status, location]).toEqual([200, null]);
    expect(head).toMatch(/content-type: text\/html; charset=utf-8/i);
    expect(head).toMatch(/cache-control: private, no-store/i);
    expect(ogOf(body, "title")).toBe("Spring &quot;sale&quot; &lt;b&gt;");
    expect(ogOf(body, "description")).toBe("Everything &amp; more");
    expect(ogOf(body, "image")).toBe("https://example.com/spring.png?a=1&amp;b=2");
    expect(ogOf(body, "url")).toBe(`${stack.info().short_url}/${alias}`);
    // Whoever takes an agent's name learns nothing of where the link leads.
    expect(body).not.toContain("example.com/plain");
    expect(body).not.toMatch(/<script|http-equiv|<b>/i);
  });

  test.each(Object.entries(OTHERS))("redirects %s", async (_, userAgent) => {
    const { alias } = await account.create({ preview: PREVIEW });
    const { status, location } = await get(alias, userAgent);
    expect([status, location]).toEqual([302, "https://example.com/plain"]);
  });

  test("counts no click for an agent, and one for a person", async () => {
    const { id, alias } = await account.create({ preview: PREVIEW });
    for (const userAgent of Object.values(AGENTS)) await get(alias, userAgent);
    await get(alias, OTHERS["a browser"]);
    await eventually(async () => expect((await account.read(id))["clicks"]).toBe(1), 60_000);
    const all = await account.send(`/v1/clicks?link_id=${id}`, "GET");
    expect(z.object({ data: z.array(z.unknown()) }).parse(all.body).data).toHaveLength(1);
  }, 120_000);

  test("comes before rules, and has neither description nor image when none is set", async () => {
    const conditions = [{ type: "query", name: "a" }];
    const { alias, id } = await account.create({
      preview: { title: "Only a title" },
      rules: [{ url: "https://example.com/rule", conditions }],
    });
    const { status, body } = await get(alias, agent, "?a=1");
    expect([status, ogOf(body, "title")]).toEqual([200, "Only a title"]);
    expect([ogOf(body, "description"), ogOf(body, "image")]).toEqual([undefined, undefined]);
    expect((await account.read(id))["preview"]).toEqual({
      title: "Only a title",
      description: null,
      image: null,
    });
    const explain = (user_agent: string) =>
      account.send(`/v1/links/${id}/explain`, "POST", { user_agent });
    expect((await explain(agent)).body).toMatchObject({ preview: true });
    expect((await explain("curl/8.9.1")).body).toMatchObject({ preview: false });
  });

  test("is replaced as a whole, and switched off by null", async () => {
    const { id, alias } = await account.create({ preview: PREVIEW });
    const changed = await account.change(id, { preview: { title: "New" } });
    expect(changed["preview"]).toEqual({ title: "New", description: null, image: null });
    expect((await account.change(id, { preview: null }))["preview"]).toBeUndefined();
    await eventually(async () => expect((await get(alias, agent)).status).toBe(302), 10_000);
  });

  test.each([
    ["no title", { description: "x" }, "invalid_request", "preview.title"],
    ["an empty title", { title: " " }, "invalid_request", '"preview.title"'],
    ["a title that is too long", { title: "x".repeat(256) }, "invalid_request", '"preview.title"'],
    ["a control character", { title: "a\u0000" }, "invalid_request", '"preview.title"'],
    ["an unknown member", { title: "a", video: "x" }, "invalid_request", '"preview.video"'],
    [
      "an image that is not https",
      { title: "a", image: "http://example.com/a.png" },
      "invalid_url",
      '"preview.image"',
    ],
    ["an image that is no URL", { title: "a", image: "a.png" }, "invalid_url", '"preview.image"'],
    [
      "an image with a script's scheme",
      { title: "a", image: "javascript:alert(1)" },
      "invalid_url",
      '"preview.image"',
    ],
  ])("is refused with %s", async (_, preview, code, field) => {
    const [status, actual, message] = await account.refuse({ preview });
    expect([status, actual, message]).toEqual([400, code, expect.stringContaining(field)]);
  });
});

describe("the page about a link", () => {
  const BROWSER = OTHERS["a browser"];

  test("shows destination, the card's title and age, and leads there only by the short link", async () => {
    const { alias, id } = await account.create({
      url: "https://example.com/a?b=1&c=<d>",
      title: "Internal",
      preview: { title: `Title "<i>"` },
    });
    const { status, location, head, body } = await get(alias, BROWSER, "+");
    expect([status, location]).toEqual([200, null]);
    expect(head).toMatch(/x-robots-tag: noindex/i);
    expect(body).toContain("<strong>example.com</strong>");
    expect(body).toContain("https://example.com/a?b=1&amp;c=%3Cd%3E");
    expect(body).toContain("Title &quot;&lt;i&gt;&quot;");
    expect(body).not.toContain("Internal");
    expect(body).toContain(new Date().toISOString().slice(0, 8));
    expect(body).toContain("less than a day ago");
    expect(body).toContain(`href="/${alias}"`);
    expect(body).not.toMatch(/<script|http-equiv|<i>|href="https/i);
    expect(body).not.toContain("Leads to this site since");
    // One trailing slash is nothing, as everywhere.
    expect((await get(alias, BROWSER, "+/")).status).toBe(200);
    // It is no click; the one after it is.
    await get(alias, BROWSER);
    await eventually(async () => expect((await account.read(id))["clicks"]).toBe(1), 60_000);
  }, 120_000);

  test("says since when a link leads to another site, on every redirector", async () => {
    const { alias, id } = await account.create();
    await account.change(id, { url: "https://example.com/elsewhere" });
    expect((await get(alias, BROWSER, "+")).body).not.toContain("Leads to this site since");
    const changed = await account.change(id, { url: "https://example.org/" });
    // It is no setting that clients see.
    expect(Object.keys(changed)).not.toContain("host_changed_at");
    const other = await startRedirector(stack);
    try {
      for (const origin of [stack.info().short_url, other.url]) {
        await eventually(async () => {
          const { body } = await get(alias, BROWSER, "+", origin);
          expect(body).toContain("<strong>example.org</strong>");
          expect(body).toContain("Leads to this site since");
        }, 10_000);
        expect((await get(alias, BROWSER, "", origin)).location).toBe("https://example.org/");
      }
    } finally {
      await other.stop();
    }
    const bulk = await account.send("/v1/links/bulk", "PATCH", {
      links: [{ id, url: "https://example.net/", rules: null }],
    });
    expect(bulk.status).toBe(200);
    await eventually(
      async () => expect((await get(alias, BROWSER, "+")).body).toContain("example.net"),
      10_000,
    );
  }, 120_000);

  test("shows where rules lead this visitor, and that others may get elsewhere", async () => {
    const { alias } = await account.create({
      rules: [
        { url: "https://example.com/windows", conditions: [{ type: "os", in: ["Windows"] }] },
      ],
    });
    const { body } = await get(alias, BROWSER, "+");
    expect(body).toContain("https://example.com/windows");
    expect(body).toContain("other addresses");
    expect((await get(alias, "curl/8.9.1", "+")).body).toContain("https://example.com/plain");
  });

  test("comes after the link's state and before its preview, and is not for links with a password", async () => {
    const unknown = await get("no-such-alias", BROWSER, "+");
    expect(unknown.status).toBe(404);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    for (const body of [{ disabled: true }, { starts_at: later }, { password: "secret" }]) {
      const { alias } = await account.create({ ...body, url: "https://example.com/hidden" });
      const response = await get(alias, BROWSER, "+");
      expect([response.status, response.body]).toEqual([404, unknown.body]);
    }
    const { alias } = await account.create({ preview: PREVIEW });
    const { status, body } = await get(alias, agent, "+");
    expect([status, body]).toEqual([200, expect.stringContaining("example.com/plain")]);
    const expiring = await account.create({
      expires_at: new Date(Date.now() + 1_500).toISOString(),
    });
    await eventually(
      async () => expect((await get(expiring.alias, BROWSER, "+")).status).toBe(410),
      15_000,
    );
    const posted = await call(`${stack.info().short_url}/${alias}+`, { body: "x=1" });
    expect(posted.status).toBe(405);
  });

  test("is off for the hosts that the operator names", async () => {
    const { alias } = await account.create();
    const other = await startRedirector(stack, { ABOUT_PAGE_OFF_HOSTS: "LOCALHOST" });
    const { port } = new URL(other.url);
    try {
      expect((await get(alias, BROWSER, "+", `http://localhost:${port}`)).status).toBe(404);
      expect((await get(alias, BROWSER, "", `http://localhost:${port}`)).status).toBe(302);
      expect((await get(alias, BROWSER, "+", `http://127.0.0.1:${port}`)).status).toBe(200);
    } finally {
      await other.stop();
    }
  });

  test("is at one path only", async () => {
    const { alias } = await account.create();
    expect((await get(alias, BROWSER, "+")).status).toBe(200);
    for (const suffix of ["+a", "+/a"])
      expect((await get(alias, BROWSER, suffix)).status).toBe(404);
    // What is glued to a short URL.
    for (const suffix of ["++", "%2B"])
      expect((await get(alias, BROWSER, suffix)).status).toBe(302);
  });
});

test("many URLs of a link are checked, and the error names the first that is not valid", async () => {
  const conditions = [{ type: "query", name: "a" }];
  const rules = Array.from({ length: 20 }, (_, i) => ({
    url: i === 7 || i === 13 ? "ftp://example.com/" : `https://host-${i}.example.com/`,
    conditions,
  }));
  const arms = Array.from({ length: 10 }, (_, i) => ({
    url: `https://arm-${i}.example.com/`,
    weight: 1,
  }));
  const other = await startApi(stack);
  try {
    const response = await call(`${other.url}/v1/links`, {
      key: account.key,
      body: { url: "https://example.com/", rules, split: { arms }, preview: PREVIEW },
    });
    expect([response.status, response.body]).toEqual([
      400,
      { error: expect.objectContaining({ code: "invalid_url", param: "rules.7.url" }) },
    ]);
  } finally {
    await other.stop();
  }
  for (const rule of rules) rule.url = rule.url.replace("ftp:", "https:");
  const { id } = await account.create({ rules, split: { arms } });
  expect((await account.read(id))["rules"]).toHaveLength(20);
});
