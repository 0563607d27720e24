/**
 * Goal: a password, a limit and a confirmation open for a person alone, as often as they may, and
 * what follows is as it would have been without them.
 */
import { describe, expect, test } from "bun:test";

import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import {
  FORM,
  headerIn,
  LINK,
  locationIn,
  pageIn,
  TestRedirector,
} from "../../test/harness/test-redirector.ts";

const CURL = { fields: { "user-agent": "curl/8.0" } };

/** The headers of a person who follows a link. */
const PERSON = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
};

const LIMIT: ClickLimit = { id: LINK.account_id, max: 5, before: 0, stored: 0, humans: true };

const LIMITED: ActiveLink = {
  ...LINK,
  extras: { limit: LIMIT, expired_url: "https://example.com/over" },
};

const SECRET: ActiveLink = { ...LINK, alias: "secret", password_hash: "hash" };

/** A redirector that must take no click of a limit. */
function untouched(...links: ActiveLink[]): TestRedirector {
  const redirector = new TestRedirector(...links);
  redirector.takeClick = () => {
    throw new Error("No click may be taken.");
  };
  return redirector;
}

describe("a password", () => {
  test("that is right is one click; HEAD, errors and wrong passwords are none", async () => {
    const redirector = new TestRedirector(LINK, SECRET);
    expect(await redirector.statusOf("/abc", { method: "HEAD" })).toBe(302);
    expect(await redirector.statusOf("/none")).toBe(404);
    expect(await redirector.statusOf("/secret")).toBe(401);
    expect((await redirector.post("/secret", "password=wrong")).status).toBe(401);
    expect(redirector.clicks).toEqual([]);
    expect((await redirector.post("/secret", "password=right")).status).toBe(302);
    expect(redirector.clicks).toHaveLength(1);
  });

  test("unlocks by a cookie only its link, and only that version of the link", async () => {
    const redirector = new TestRedirector(SECRET, {
      ...SECRET,
      alias: "other",
      link_id: LINK.account_id,
    });
    const cookie = headerIn(await redirector.post("/secret", "password=right"), "set-cookie");
    expect(cookie).toMatch(/; Path=\/secret; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/);
    const [pair = ""] = cookie.split(";");
    const fields = { cookie: `a=b; ${pair}; c=d` };
    expect(await redirector.locationOf("/secret", { fields })).toBe(LINK.destination);
    expect(redirector.clicks).toHaveLength(2);
    expect(await redirector.statusOf("/other", { fields })).toBe(401);
    const forged = { cookie: `${pair.slice(0, -1)}x` };
    expect(await redirector.statusOf("/secret", { fields: forged })).toBe(401);
    redirector.cache.put({ ...SECRET, version: 2, password_hash: "another" });
    expect(await redirector.statusOf("/secret", { fields })).toBe(401);
    expect(redirector.clicks).toHaveLength(2);
  });

  test("is asked for by a form whose policy lets browsers follow the redirect to any destination", async () => {
    const page = await new TestRedirector(SECRET).request("/secret");
    expect(headerIn(page, "content-security-policy")).toContain("form-action http: https:");
  });
});

describe("a limit", () => {
  test("in hand is taken of at once, others are awaited, and each is one click", async () => {
    const redirector = new TestRedirector(LIMITED);
    await redirector.request("/abc", CURL);
    redirector.atOnce("/abc", CURL);
    redirector.takeClick = async () => Promise.resolve("taken");
    expect(await redirector.locationOf("/abc", CURL)).toBe(LINK.destination);
    expect(redirector.clicks).toHaveLength(3);
    redirector.takeClick = () => "spent";
    expect(await redirector.locationOf("/abc", CURL)).toBe("https://example.com/over");
    redirector.takeClick = () => "busy";
    const busy = { status: 503, headers: { "retry-after": "2" } };
    expect(await redirector.request("/abc", CURL)).toMatchObject(busy);
    expect(redirector.clicks).toHaveLength(3);
  });

  test("for people loses no click to HEAD, programs and unpressed buttons", async () => {
    const redirector = untouched(LIMITED);
    for (const request of [
      { method: "HEAD" },
      { fields: { "user-agent": "Googlebot/2.1" } },
      { fields: { "user-agent": "curl/8.0", "sec-purpose": "prefetch" } },
      { method: "POST" },
      { method: "POST", body: "confirm=no", fields: FORM },
      { method: "POST", body: "confirm=yes", fields: { "content-type": "text/plain" } },
    ])
      expect(await redirector.statusOf("/abc", request)).toBe(200);
    redirector.takeClick = () => "taken";
    const fields = { ...FORM, "user-agent": "Googlebot/2.1" };
    expect(locationIn(await redirector.post("/abc", "confirm=yes", { fields }))).toBe(
      LINK.destination,
    );
    expect(redirector.clicks).toHaveLength(1);
  });

  test.each([
    // What browsers and apps have sent ahead of a person.
    { "sec-purpose": "prefetch" },
    { purpose: "Preview" },
    { "x-purpose": "preview" },
    { "x-moz": "prefetch" },
    { "x-firefox-ai": "1" },
    // Scripts, which may not set `Sec-Purpose`.
    { "x-sec-purpose": "prefetch" },
    // A load within a page.
    { "sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate" },
    // Nothing that a person's browser sends.
    { "user-agent": "" },
  ])("for people loses no click to %p, and one to the person after it", async (fields) => {
    const redirector = untouched(LIMITED);
    expect(await redirector.statusOf("/abc", { fields: { ...PERSON, ...fields } })).toBe(200);
    redirector.takeClick = () => "taken";
    expect(await redirector.locationOf("/abc", { fields: PERSON })).toBe(LINK.destination);
    expect(redirector.clicks).toHaveLength(1);
  });

  test("loses no click to an address that is too long to be passed on", async () => {
    const redirector = untouched({ ...LIMITED, forward_query: true });
    const { status } = await redirector.post(`/abc?x=${"ü".repeat(3_000)}`, "confirm=yes");
    expect(status).toBe(414);
  });
});

const RULES = [
  {
    id: "0190a5a2-0000-7000-8000-000000000009",
    url: "https://example.com/from-news",
    conditions: [{ type: "referrer" as const, in: ["example.org"] }],
  },
];

/** The referrer in the form of a page, as a browser posts it. */
function postedBy(page: string): string {
  const value = / name="referrer" type="hidden" value="([^"]*)"/.exec(page)?.[1];
  return value === undefined
    ? ""
    : `&referrer=${encodeURIComponent(value.replaceAll("&amp;", "&"))}`;
}

describe("behind a page of the link", () => {
  test.each<[string, Partial<ActiveLink>, string]>([
    ["a password", { password_hash: "hash" }, "password=right"],
    ["a confirmation", { extras: { rules: RULES, confirm: true } }, "confirm=yes"],
    ["a limit", { extras: { rules: RULES, limit: LIMIT } }, "confirm=yes"],
    [
      "a password and a limit",
      { password_hash: "hash", extras: { rules: RULES, limit: LIMIT } },
      "password=right",
    ],
    ["a wrong password", { password_hash: "hash" }, "password=wrong"],
  ])("%s, rules and clicks have the referrer of the visit", async (_what, change, body) => {
    const redirector = new TestRedirector({ ...LINK, extras: { rules: RULES }, ...change });
    const fields = {
      referer: "https://news.example.org/a?b=c#d",
      "user-agent": "Googlebot/2.1",
    };
    let response = await redirector.request("/abc", { fields });
    expect([200, 401]).toContain(response.status);
    response = await redirector.post("/abc", body + postedBy(pageIn(response)));
    // The form after a wrong password carries it on.
    if (response.status === 401)
      response = await redirector.post("/abc", `password=right${postedBy(pageIn(response))}`);
    expect(locationIn(response)).toBe("https://example.com/from-news");
    expect(redirector.clicks.map(({ referrer }) => referrer)).toEqual([
      "https://news.example.org/a",
    ]);
  });

  test("a visit without a referrer has none, and none is shown", async () => {
    const redirector = new TestRedirector({ ...LINK, extras: { rules: RULES, confirm: true } });
    for (const referer of ["", "nonsense", "javascript:alert(1)", "about:blank", "data:,x"])
      expect(postedBy(await redirector.pageOf("/abc", { fields: { referer } }))).toBe("");
    expect(locationIn(await redirector.post("/abc", "confirm=yes"))).toBe(LINK.destination);
    expect(redirector.clicks.map(({ referrer }) => referrer)).toEqual([""]);
  });

  test.each([
    ["credentials and a query", "https://user:secret@example.org/a?b=c", "https://example.org/a"],
    ["line breaks", "https://example.org/a\r\nX: y", "https://example.org/aX:%20y"],
    ["no page", "javascript:alert(1)", ""],
  ])("a posted referrer with %s is what it would be in the header", async (_what, posted, kept) => {
    const redirector = new TestRedirector({ ...LINK, extras: { confirm: true } });
    const body = `confirm=yes&referrer=${encodeURIComponent(posted)}`;
    expect(locationIn(await redirector.post("/abc", body))).toBe(LINK.destination);
    expect(redirector.clicks.map(({ referrer }) => referrer)).toEqual([kept]);
  });

  test.each(["password=right", "confirm=yes"])(
    "whoever posts %s is redirected to the destination of their own link, also when others do at the same moment",
    async (body) => {
      const links = Array.from({ length: 20 }, (_, i) => ({
        ...LINK,
        alias: `a${i}`,
        version: i + 1,
        destination: `https://example.com/${i}`,
        password_hash: "a hash",
        extras: i % 2 === 0 ? { confirm: true as const } : { limit: LIMIT },
      }));
      const redirector = new TestRedirector(...links);
      const unlocked = await Promise.all(
        links.map(({ alias }) => redirector.post(`/${alias}`, "password=right")),
      );
      const responses = await Promise.all(
        links.map(({ alias }, i) => {
          const cookie = headerIn(unlocked[i], "set-cookie");
          return redirector.post(`/${alias}`, body, { fields: { ...FORM, cookie } });
        }),
      );
      expect(responses.map(locationIn)).toEqual(links.map(({ destination }) => destination));
    },
  );
});
