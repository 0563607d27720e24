import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { toSlice } from "../../shared/bytes.ts";
import { isAlias } from "../../shared/contracts/alias.ts";
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { type CachedLink, emptyLink } from "../../shared/links-store/record.ts";
import { decide as decideWith, decideAt, type Miss, type ShortRequest } from "./decision.ts";

const link = (change: Partial<CachedLink> = {}): CachedLink => ({ ...emptyLink(), ...change });

const NOW = 1_000;

const get = (change: Partial<ShortRequest> = {}): ShortRequest => ({
  method: "GET",
  path: "/abc",
  domain: "",
  userAgent: "",
  now: NOW,
  settingsOf: () => undefined,
  isExhausted: () => false,
  ...change,
});

/** Decides about links without settings. */
const decide = (
  request: ShortRequest,
  cached: CachedLink | undefined,
  now: number,
  settings: RedirectSettings = {},
  isExhausted = false,
) =>
  decideWith(
    { ...request, now, settingsOf: () => ({ settings }), isExhausted: () => isExhausted },
    cached,
  );

const withSettings = (change: Partial<CachedLink> = {}) =>
  link({ settings: toSlice(Buffer.from("{}")), ...change });

describe("the decision", () => {
  test("a cached link redirects, for GET and HEAD alike", () => {
    const cached = link();
    for (const method of ["GET", "HEAD"]) {
      expect(decide(get({ method }), cached, NOW)).toEqual({ kind: "redirect", link: cached });
    }
  });

  test("a link expires at its very millisecond", () => {
    const expiring = link({ expires_at: NOW });
    expect(decide(get(), expiring, NOW - 1).kind).toBe("redirect");
    expect(decide(get(), expiring, NOW).kind).toBe("expired");
  });

  test.each<[string, Partial<ShortRequest>, CachedLink | undefined, string]>([
    ["a link that is not cached", {}, undefined, "miss"],
    ["a host that is not served", { domain: undefined }, link(), "not_found"],
    ["a path that begins with no alias", { path: "/-a/b" }, undefined, "not_found"],
    ["a malformed path", { path: undefined }, undefined, "bad_request"],
    [
      "a malformed path at a host that is not served",
      { path: undefined, domain: undefined },
      undefined,
      "bad_request",
    ],
    ["the root", { path: "/" }, undefined, "root"],
    [
      "the root of a custom domain",
      { path: "/", domain: "go.example.com" },
      undefined,
      "not_found",
    ],
    ["robots.txt", { path: "/robots.txt" }, undefined, "robots"],
    ["a health check", { path: "/healthz" }, undefined, "healthy"],
    ["a health check by address", { path: "/healthz", domain: undefined }, undefined, "healthy"],
    [
      "a form posted to the health check",
      { method: "POST", path: "/healthz" },
      undefined,
      "method_not_allowed",
    ],
    ["the icon", { path: "/favicon.ico" }, undefined, "favicon"],
    ["a link with a password", {}, link({ password_hash: "x" }), "password"],
    ["a posted password", { method: "POST" }, link({ password_hash: "x" }), "password"],
    ["an expired link with a password", {}, link({ password_hash: "x", expires_at: 1 }), "expired"],
    [
      "a form posted to a link without a password",
      { method: "POST" },
      link(),
      "method_not_allowed",
    ],
    ["another method", { method: "PUT" }, link(), "method_not_allowed"],
    ["a form posted to the root", { method: "POST", path: "/" }, undefined, "method_not_allowed"],
  ])("%s", (_name, request, cached, kind) => {
    expect(decide(get(request), cached, NOW).kind).toBe(kind as never);
  });

  test("no request makes it throw, and only a well-formed alias is fetched", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (method, path) => {
        const decision = decide(get({ method, path: `/${path}` }), undefined, NOW);
        if (decision.kind === "miss") {
          for (const { alias } of decision.names) expect(isAlias(alias)).toBeTrue();
        }
      }),
    );
  });

  test("a disabled link does not exist, whatever else it has", () => {
    const disabled = withSettings({ password_hash: "$argon2id$x", expires_at: 1 });
    for (const method of ["GET", "HEAD", "POST"])
      expect(decide(get({ method }), disabled, NOW, { disabled: true })).toEqual({
        kind: "not_found",
        failure: { reason: "disabled", link: disabled },
      });
  });

  test("a link begins to exist at its very millisecond", () => {
    const settings = { starts_at: NOW };
    expect(decide(get(), withSettings(), NOW - 1, settings).kind).toBe("not_found");
    expect(decide(get(), withSettings(), NOW, settings).kind).toBe("redirect");
  });

  test("an expired link leads to its URL for that, once it has expired", () => {
    const settings = { expired_url: "https://example.com/over" };
    const expiring = withSettings({ expires_at: NOW, password_hash: "$argon2id$x" });
    expect(decide(get(), expiring, NOW - 1, settings).kind).toBe("password");
    expect(decide(get(), expiring, NOW, settings)).toEqual({
      kind: "expired_url",
      url: "https://example.com/over",
      failure: { reason: "expired", link: expiring },
    });
    expect(decide(get({ method: "POST" }), expiring, NOW, settings).kind).toBe("expired");
    expect(decide(get(), withSettings(), NOW, settings).kind).toBe("redirect");
  });

  const preview = { title: "Card" };

  test("an agent gets the card of a link that would redirect it, by GET alone", () => {
    const agent = { userAgent: "Twitterbot/1.0" };
    const kindOf = (request: Partial<ShortRequest>, cached = withSettings(), settings = {}) =>
      decide(get(request), cached, NOW, { preview, ...settings }).kind;
    const carded = withSettings();
    expect(decide(get(agent), carded, NOW, { preview })).toEqual({
      kind: "preview",
      link: carded,
      preview,
    });
    expect(kindOf({ ...agent, method: "HEAD" })).toBe("redirect");
    expect(kindOf({ ...agent, method: "POST" })).toBe("method_not_allowed");
    expect(kindOf({ userAgent: "Mozilla/5.0" })).toBe("redirect");
    expect(kindOf(agent, withSettings({ password_hash: "x" }))).toBe("password");
    expect(kindOf(agent, withSettings({ expires_at: NOW }))).toBe("expired");
    expect(kindOf(agent, withSettings(), { disabled: true })).toBe("not_found");
    expect(kindOf(agent, withSettings(), { starts_at: NOW + 1 })).toBe("not_found");
  });
});

/** The decision about a path without a cached link. */
const miss = (path: string): Miss => {
  const decision = decide(get({ path }), undefined, NOW);
  if (decision.kind !== "miss") throw new Error(`${path} is ${decision.kind}`);
  return decision;
};

/** What is decided for the link `abc`, the last that such a path may mean; its limit leaves clicks. */
function kindAt(
  path: string,
  cached: CachedLink,
  settings: RedirectSettings = {},
  change: Partial<ShortRequest> = {},
) {
  const request = get({ path, settingsOf: () => ({ settings }), ...change });
  const { alias, suffix = "" } = miss(path).names.at(-1) ?? {};
  expect(alias).toBe("abc");
  return decideAt(request, suffix, cached).kind;
}

describe("a path beyond an alias", () => {
  test.each<[path: string, suffixesByAlias: Record<string, string>]>([
    ["/abc/d/e", { "abc/d/e": "", abc: "/d/e" }],
    ["/abc/d.", { "abc/d": "", abc: "/d." }],
    ["/abc/d%2Fe", { abc: "/d%2Fe" }],
    ["/abc/d e", { "abc/d": "", abc: "/d e" }],
    ["/abc/.", { abc: "/." }],
    ["/abc//d", { abc: "//d" }],
    ["/abc+", { abc: "+" }],
    ["/abc/d+", { "abc/d": "+", abc: "/d+" }],
    ["//abc", { abc: "" }],
    ["//abc/d", { "abc/d": "" }],
    ["/abc%20/b", { abc: "" }],
    ["/abc++", { abc: "" }],
    ["/a.b/c", { "a.b/c": "", "a.b": "/c" }],
    ["/r%C3%A9/%f0%9f%8e%88", { "ré/🎈": "", ré: "/%f0%9f%8e%88" }],
    ["/r\xc3\xa9", { ré: "" }],
    ["/re%CC%81", { ré: "" }],
    [`/abc/${"d".repeat(1_100)}`, { abc: `/${"d".repeat(1_100)}` }],
  ])("%s is looked up as a whole, then by its first segment", (path, suffixes) => {
    const names = miss(path).names.map(({ alias, suffix }) => [alias, suffix]);
    expect(names).toEqual(Object.entries(suffixes));
  });

  test.each(["/-a/b", "/+", "/a+/b", "/abc%2Fd", "/healthz/a", "/.well-known/a", "/Robots.txt"])(
    "%s means no link",
    (path) => {
      expect(decide(get({ path }), undefined, NOW).kind).toBe("not_found");
    },
  );

  test("leads somewhere only for a link that forwards it", () => {
    const settings = toSlice(Buffer.from("{}"));
    expect(kindAt("/abc/d", link())).toBe("not_found");
    expect(kindAt("/abc/d", link({ expires_at: 1 }))).toBe("not_found");
    for (const forward_path of ["append", "ignore"] as const) {
      expect(kindAt("/abc/d", link({ settings }), { forward_path })).toBe("redirect");
      expect(kindAt("/abc/d", link({ settings, expires_at: 1 }), { forward_path })).toBe("expired");
      expect(kindAt("/abc/d", link({ settings, password_hash: "x" }), { forward_path })).toBe(
        "password",
      );
    }
    const traversal = "/abc/%2e%2e%2fd";
    expect(kindAt(traversal, link({ settings }), { forward_path: "append" })).toBe("bad_request");
    expect(kindAt(traversal, link({ settings }), { forward_path: "ignore" })).toBe("redirect");
  });

  test("shows the page about a link that is followed without a password", () => {
    expect(kindAt("/abc+", link())).toBe("about");
    expect(kindAt("/abc+", link(), { preview: { title: "Card" } })).toBe("about");
    expect(kindAt("/abc+", link({ password_hash: "x" }))).toBe("not_found");
    expect(kindAt("/abc+", link({ password_hash: "x" }), {}, { method: "POST" })).toBe("not_found");
    expect(kindAt("/abc+", link({ expires_at: 1 }))).toBe("expired");
    expect(kindAt("/abc+", link(), {}, { method: "POST" })).toBe("method_not_allowed");
  });

  test("shows no page about a link with a limit or a confirmation, whoever asks", () => {
    const limit = { id: "0190a5a2-0000-7000-8000-000000000001", max: 1, before: 0, stored: 0 };
    const preview = { title: "Card" };
    for (const guard of [{ limit }, { confirm: true }] as const)
      for (const method of ["GET", "HEAD", "POST"])
        for (const userAgent of ["", "Mozilla/5.0", "Twitterbot/1.0"])
          for (const settings of [guard, { ...guard, preview }])
            expect(kindAt("/abc+", withSettings(), settings, { method, userAgent })).toBe(
              "not_found",
            );
  });
});

describe("a link with a limit or a confirmation", () => {
  test("a link whose limit is reached is gone, before its password is asked for", () => {
    const limit = { id: "0190a5a2-0000-7000-8000-000000000001", max: 1, before: 0, stored: 0 };
    const secret = withSettings({ password_hash: "$argon2id$x" });
    expect(decide(get(), secret, NOW, { limit }).kind).toBe("password");
    expect(decide(get(), secret, NOW, { limit }, true).kind).toBe("limit_reached");
    expect(decide(get(), withSettings(), NOW, { limit }).kind).toBe("guarded");
    expect(decide(get({ method: "POST" }), withSettings(), NOW, { limit }).kind).toBe("guarded");
    const expired_url = "https://example.com/over";
    expect(decide(get(), secret, NOW, { limit, expired_url }, true)).toEqual({
      kind: "expired_url",
      url: expired_url,
      failure: { reason: "limit_reached", link: secret },
    });
    expect(decide(get(), withSettings(), NOW, { limit, disabled: true }, true).kind).toBe(
      "not_found",
    );
  });

  test("a link with a confirmation is guarded for every method that a link has", () => {
    for (const method of ["GET", "HEAD", "POST"])
      expect(decide(get({ method }), withSettings(), NOW, { confirm: true }).kind).toBe("guarded");
    expect(decide(get({ method: "PUT" }), withSettings(), NOW, { confirm: true }).kind).toBe(
      "method_not_allowed",
    );
  });
});
