/**
 * Goal: agents get a link's card and people its destination; who asks first learns where a link
 * leads.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { CHROME, rawRequest } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/stack.ts";

const stack = await forFile(useStack());
const account = await OwnLinks.start(stack);

const AGENT = "Twitterbot/1.0";

const PREVIEW = {
  title: `Spring "sale" <b>`,
  description: "Everything & more",
  image: "https://example.com/spring.png?a=1&b=2",
};

const get = (alias: string, userAgent: string, path = "", origin = stack.info().short_url) =>
  rawRequest(origin, `/${alias}${path}`, { "user-agent": userAgent });

/** The content of a tag of Open Graph; undefined for none. */
const ogOf = (html: string, name: string): string | undefined =>
  new RegExp(`<meta property="og:${name}" content="([^"]*)">`).exec(html)?.[1];

describe("a link with a preview", () => {
  test("shows its card to an agent, which is no click, and redirects a person, which is one", async () => {
    const { id, alias } = await account.create({ preview: PREVIEW });
    const { status, location, head, body } = await get(alias, AGENT);
    expect([status, location]).toEqual([200, null]);
    expect(head).toMatch(/content-type: text\/html; charset=utf-8/i);
    expect(head).toMatch(/cache-control: private, no-store/i);
    expect(ogOf(body, "title")).toBe("Spring &quot;sale&quot; &lt;b&gt;");
    expect(ogOf(body, "image")).toBe("https://example.com/spring.png?a=1&amp;b=2");
    expect(ogOf(body, "url")).toBe(`${stack.info().short_url}/${alias}`);
    // Whoever takes an agent's name learns nothing of where the link leads.
    expect(body).not.toContain("example.com/plain");
    expect(body).not.toMatch(/<script|http-equiv|<b>/i);
    expect((await get(alias, CHROME)).location).toBe("https://example.com/plain");
    await eventually(async () => expect((await account.read(id))["clicks"]).toBe(1), 60_000);
    const all = await account.send(`/v1/clicks?link_id=${id}`, "GET");
    expect(z.object({ data: z.array(z.unknown()) }).parse(all.body).data).toHaveLength(1);
    const explain = (user_agent: string) =>
      account.send(`/v1/links/${id}/explain`, "POST", { user_agent });
    expect((await explain(AGENT)).body).toMatchObject({ preview: true });
    expect((await explain("curl/8.9.1")).body).toMatchObject({ preview: false });
    // It is replaced as a whole, and switched off by null.
    const changed = await account.change(id, { preview: { title: "New" } });
    expect(changed["preview"]).toEqual({ title: "New", description: null, image: null });
    expect((await account.change(id, { preview: null }))["preview"]).toBeUndefined();
    await eventually(async () => expect((await get(alias, AGENT)).status).toBe(302));
  });
});

describe("the page about a link", () => {
  test("says since when a link leads to another site, on every redirector", async () => {
    const { alias, id } = await account.create();
    await account.change(id, { url: "https://example.com/elsewhere" });
    expect((await get(alias, CHROME, "+/")).body).not.toContain("Leads to this site since");
    const changed = await account.change(id, { url: "https://example.org/" });
    // It is no setting that clients see.
    expect(Object.keys(changed)).not.toContain("host_changed_at");
    const other = await startRedirector(stack);
    try {
      for (const origin of [stack.info().short_url, other.url]) {
        await eventually(async () => {
          const { body } = await get(alias, CHROME, "+", origin);
          expect(body).toContain("<strong>example.org</strong>");
          expect(body).toContain("Leads to this site since");
        });
        expect((await get(alias, CHROME, "", origin)).location).toBe("https://example.org/");
      }
    } finally {
      await other.stop();
    }
    const bulk = await account.send("/v1/links/bulk", "PATCH", {
      links: [{ id, url: "https://example.net/", rules: null }],
    });
    expect(bulk.status).toBe(200);
    await eventually(async () =>
      expect((await get(alias, CHROME, "+")).body).toContain("example.net"),
    );
  });

  test("shows where rules lead this visitor, and that others may get elsewhere", async () => {
    const { alias } = await account.create({
      rules: [
        { url: "https://example.com/windows", conditions: [{ type: "os", in: ["Windows"] }] },
      ],
    });
    const { body } = await get(alias, CHROME, "+");
    expect(body).toContain("https://example.com/windows");
    expect(body).toContain("other addresses");
    expect((await get(alias, "curl/8.9.1", "+")).body).toContain("https://example.com/plain");
  });
});
