/**
 * Goal: a path beyond an alias leads where docs/links-that-decide.md says, and nowhere else,
 * whatever is sent.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { call, callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { startRedirector } from "../harness/processes.ts";
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

const get = (target: string, fields: Record<string, string> = {}) =>
  rawRequest(stack.info().short_url, target, fields);

/** Follows a path; returns status and destination. */
async function follow(target: string, fields?: Record<string, string>) {
  const { status, location } = await get(target, fields);
  return [status, location];
}

describe("a link that appends its path", () => {
  test("leads to its destination with the path behind that of the destination", async () => {
    const { alias } = await account.create({
      url: "https://example.com/docs?x=1#top",
      forward_path: "append",
    });
    expect(await follow(`/${alias}`)).toEqual([302, "https://example.com/docs?x=1#top"]);
    expect(await follow(`/${alias}/a/b`)).toEqual([302, "https://example.com/docs/a/b?x=1#top"]);
    expect(await follow(`/${alias}/a/`)).toEqual([302, "https://example.com/docs/a/?x=1#top"]);
    // One slash at the end is that of the link itself.
    expect(await follow(`/${alias}/`)).toEqual([302, "https://example.com/docs?x=1#top"]);
    // The alias may be escaped, as everywhere.
    const escaped = `%${alias.charCodeAt(0).toString(16)}${alias.slice(1)}`;
    expect(await follow(`/${escaped}/a`)).toEqual([302, "https://example.com/docs/a?x=1#top"]);
  });

  test("merges the query after the path, and only when the link forwards it", async () => {
    const url = "https://example.com/docs/?x=1";
    const both = await account.create({ url, forward_path: "append", forward_query: true });
    const path = await account.create({ url, forward_path: "append" });
    expect(await follow(`/${both.alias}/a?x=2&y=3`)).toEqual([
      302,
      "https://example.com/docs/a?x=1&y=3",
    ]);
    expect(await follow(`/${path.alias}/a?y=3`)).toEqual([302, "https://example.com/docs/a?x=1"]);
  });

  test("appends it to the destinations of rules and splits as well, not to that of expired links", async () => {
    const conditions = [{ type: "query", name: "r" }];
    const ruled = await account.create({
      forward_path: "append",
      rules: [{ url: "https://example.com/rule/", conditions }],
      split: { arms: [{ url: "https://example.com/arm", weight: 99 }] },
      expires_at: new Date(Date.now() + 3_000).toISOString(),
      expired_url: "https://example.com/over",
    });
    expect(await follow(`/${ruled.alias}/a?r`)).toEqual([302, "https://example.com/rule/a"]);
    const [, location] = await follow(`/${ruled.alias}/a`);
    expect(["https://example.com/arm/a", "https://example.com/plain/a"]).toContain(
      String(location),
    );
    await eventually(
      async () =>
        expect(await follow(`/${ruled.alias}/a`)).toEqual([302, "https://example.com/over"]),
      15_000,
    );
  });

  test("counts a click, also on a redirector that did not have the link", async () => {
    const { id, alias } = await account.create({ forward_path: "append" });
    const other = await startRedirector(stack);
    try {
      expect((await rawRequest(other.url, `/${alias}/a`)).location).toBe(
        "https://example.com/plain/a",
      );
      await follow(`/${alias}/a`);
      await eventually(async () => expect((await account.read(id))["clicks"]).toBe(2), 60_000);
    } finally {
      await other.stop();
    }
  }, 120_000);

  test("asks for its password at any path, once for all of them", async () => {
    const { alias } = await account.create({ forward_path: "append", password: "secret" });
    expect((await get(`/${alias}/a`)).status).toBe(401);
    const unlocked = await callOnce(`${stack.info().short_url}/${alias}/a`, {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "password=secret",
    });
    expect(unlocked.headers.get("location")).toBe("https://example.com/plain/a");
    const cookie = unlocked.headers.get("set-cookie") ?? "";
    expect(cookie).toContain(`Path=/${alias};`);
    expect(await follow(`/${alias}/b`, { cookie: cookie.split(";")[0] ?? "" })).toEqual([
      302,
      "https://example.com/plain/b",
    ]);
  });
});

describe("traversal", () => {});

describe("header injection", () => {
  test.each([
    ["/%0d%0aSet-Cookie:%20a=b", "https://example.com/plain/%0d%0aSet-Cookie:%20a=b"],
    ["/%E5%98%8A%E5%98%8DX:y", "https://example.com/plain/%E5%98%8A%E5%98%8DX:y"],
    // Line breaks in the last byte of UTF-16, as raw UTF-8.
    [Buffer.from("/嘊嘍X:y").toString("latin1"), "https://example.com/plain/%E5%98%8A%E5%98%8DX:y"],
    ["/\xff\xfe", "https://example.com/plain/%FF%FE"],
    [`/"<>{}|^\``, "https://example.com/plain/%22%3C%3E%7B%7D%7C%5E%60"],
    ["/#a", "https://example.com/plain/%23a"],
    [
      "/https://example.org/@example.org:80",
      "https://example.com/plain/https://example.org/@example.org:80",
    ],
  ])("%j stays within one header field", async (suffix, expected) => {
    const { alias } = await account.create({ forward_path: "append" });
    const { status, location, head } = await get(`/${alias}${suffix}`);
    expect([status, location]).toEqual([302, expected]);
    expect(head.split("\r\n").filter((line) => /^set-cookie|^x:/i.test(line))).toEqual([]);
    expect(head).toMatch(/^[\x20-\x7e\r\n]*$/);
  });

  test("a line break in the path is no request", async () => {
    const { alias } = await account.create({ forward_path: "append" });
    for (const suffix of ["/a\nX: y", "/a\r\nX: y", "/a\tb", "/a b"])
      expect((await get(`/${alias}${suffix}`)).status).toBe(400);
  });
});

describe("loops", () => {
  test("a link cannot lead back to the service, by any of its URLs", async () => {
    const { host } = new URL(stack.info().short_url);
    const url = `http://${host}/x`;
    const conditions = [{ type: "query", name: "a" }];
    for (const body of [
      { url },
      { rules: [{ url, conditions }] },
      { split: { arms: [{ url, weight: 1 }] } },
      { expired_url: url },
    ])
      expect((await account.refuse({ forward_path: "append", ...body })).slice(0, 2)).toEqual([
        400,
        "invalid_url",
      ]);
  });
});

describe("other links", () => {
  test("have nothing at a path, whatever state they are in", async () => {
    const unknown = await get("/no-such-alias/a");
    expect(unknown.status).toBe(404);
    const plain = await account.create();
    const off = await account.create({ forward_path: "append", disabled: true });
    const cleared = await account.create({ forward_path: "append" });
    const changed = await account.change(cleared.id, { forward_path: null });
    expect(changed["forward_path"]).toBeUndefined();
    for (const { alias } of [plain, off, cleared]) {
      const { status, body } = await get(`/${alias}/a`);
      expect([status, body]).toEqual([404, unknown.body]);
    }
    expect(await follow(`/${plain.alias}`)).toEqual([302, "https://example.com/plain"]);
  });

  test("an exact alias wins, and only the first segment is looked up", async () => {
    const first = await account.create({ forward_path: "append" });
    const second = await account.create({ url: "https://example.com/second" });
    expect(await follow(`/${second.alias}`)).toEqual([302, "https://example.com/second"]);
    expect(await follow(`/${first.alias}/${second.alias}`)).toEqual([
      302,
      `https://example.com/plain/${second.alias}`,
    ]);
    expect((await get(`/${second.alias}/${first.alias}`)).status).toBe(404);
    // A form is posted to links with a password only.
    const posted = await call(`${stack.info().short_url}/${first.alias}/a`, { body: "x=1" });
    expect(posted.status).toBe(405);
  });

  test("the setting is part of the link, and nothing but its two values is one", async () => {
    const { id } = await account.create({ forward_path: "ignore" });
    expect((await account.read(id))["forward_path"]).toBe("ignore");
    const [status, code, message] = await account.refuse({ forward_path: "prepend" });
    expect([status, code, message]).toEqual([
      400,
      "invalid_request",
      expect.stringContaining('"forward_path"'),
    ]);
  });
});
