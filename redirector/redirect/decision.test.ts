/** Goal: a request has the same decision on every code path, from its link and the time alone. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { toSlice } from "../../shared/bytes.ts";
import { isAlias } from "../../shared/contracts/alias.ts";
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { type CachedLink, emptyLink } from "../../shared/links-store/record.ts";
import { decide, decideAt, type ShortRequest } from "./decision.ts";

const NOW = 1_000;

/** A request, what the link at its path has, and whether its limit is reached. */
type Case = {
  method?: string;
  path?: string | undefined;
  domain?: string | undefined;
  userAgent?: string;
  link?: Partial<CachedLink>;
  settings?: RedirectSettings;
  spent?: boolean;
};

const requestOf = ({ settings, spent = false, ...request }: Case): ShortRequest => ({
  method: "GET",
  path: "/abc",
  domain: "",
  userAgent: "",
  now: NOW,
  settingsOf: () => settings && { settings },
  isExhausted: () => spent,
  ...request,
});

const linkOf = ({ link = {}, settings }: Case): CachedLink => ({
  ...emptyLink(),
  settings: settings === undefined ? null : toSlice(Buffer.from("{}")),
  ...link,
});

/** The aliases that a path may mean, each with what follows it. */
function namesOf(path: string) {
  const decision = decide(requestOf({ path }), undefined);
  return decision.kind === "miss" ? decision.names : [];
}

test.each<[string, Case, string]>([
  ["a link that is not cached", {}, "miss"],
  ["a malformed path", { path: undefined }, "bad_request"],
  ["one at a host that is not served", { path: undefined, domain: undefined }, "bad_request"],
  ["a host that is not served", { domain: undefined }, "not_found"],
  ["the root", { path: "/" }, "root"],
  ["the root of a custom domain", { path: "/", domain: "go.example.com" }, "not_found"],
  ["a form posted to the root", { path: "/", method: "POST" }, "method_not_allowed"],
  ["robots.txt", { path: "/robots.txt" }, "robots"],
  ["a health check", { path: "/healthz" }, "healthy"],
  ["a health check by address", { path: "/healthz", domain: undefined }, "healthy"],
  ["a form posted to it", { path: "/healthz", method: "POST" }, "method_not_allowed"],
  ["the icon", { path: "/favicon.ico" }, "favicon"],
])("%s: %j is decided without a link: %s", (_, asked, kind) => {
  expect(decide(requestOf(asked), undefined).kind).toBe(kind as never);
});

const PASSWORD = { password_hash: "$argon2id$x" };
const OVER = { expired_url: "https://example.com/over" };
const AGENT = { userAgent: "Twitterbot/1.0", settings: { preview: { title: "Card" } } };
const LIMIT = { id: "0190a5a2-0000-7000-8000-000000000001", max: 1, before: 0, stored: 0 };

test.each<[string, Case, string]>([
  ["a link", {}, "redirect"],
  ["its head", { method: "HEAD" }, "redirect"],
  ["a form posted to it", { method: "POST" }, "method_not_allowed"],
  ["another method", { method: "PUT" }, "method_not_allowed"],
  ["the millisecond before it expires", { link: { expires_at: NOW + 1 } }, "redirect"],
  ["the one at which it expires", { link: { expires_at: NOW } }, "expired"],
  ["a password", { link: PASSWORD }, "password"],
  ["a posted password", { link: PASSWORD, method: "POST" }, "password"],
  ["an expired one", { link: { ...PASSWORD, expires_at: NOW } }, "expired"],
  ["a URL for expired links", { settings: OVER }, "redirect"],
  [
    "when it has expired",
    { link: { ...PASSWORD, expires_at: NOW }, settings: OVER },
    "expired_url",
  ],
  ["by a form", { link: { expires_at: NOW }, settings: OVER, method: "POST" }, "expired"],
  [
    "a disabled link, whatever else it has",
    { link: { ...PASSWORD, expires_at: 1 }, settings: { disabled: true } },
    "not_found",
  ],
  ["by a form", { settings: { disabled: true }, method: "POST" }, "not_found"],
  ["the millisecond before it starts", { settings: { starts_at: NOW + 1 } }, "not_found"],
  ["the one at which it starts", { settings: { starts_at: NOW } }, "redirect"],
  ["a card, for an agent", AGENT, "preview"],
  ["by its head", { ...AGENT, method: "HEAD" }, "redirect"],
  ["by a form", { ...AGENT, method: "POST" }, "method_not_allowed"],
  ["for a person", { ...AGENT, userAgent: "Mozilla/5.0" }, "redirect"],
  ["behind a password", { ...AGENT, link: PASSWORD }, "password"],
  ["of an expired link", { ...AGENT, link: { expires_at: NOW } }, "expired"],
  [
    "of a disabled link",
    { ...AGENT, settings: { ...AGENT.settings, disabled: true } },
    "not_found",
  ],
  ["before it starts", { ...AGENT, settings: { ...AGENT.settings, starts_at: 2e3 } }, "not_found"],
  ["a limit", { settings: { limit: LIMIT } }, "guarded"],
  ["by a form", { settings: { limit: LIMIT }, method: "POST" }, "guarded"],
  ["behind a password", { settings: { limit: LIMIT }, link: PASSWORD }, "password"],
  ["that is reached", { settings: { limit: LIMIT }, link: PASSWORD, spent: true }, "limit_reached"],
  ["with a URL for that", { settings: { limit: LIMIT, ...OVER }, spent: true }, "expired_url"],
  ["disabled", { settings: { limit: LIMIT, disabled: true }, spent: true }, "not_found"],
  ["a confirmation", { settings: { confirm: true } }, "guarded"],
  ["of its head", { settings: { confirm: true }, method: "HEAD" }, "guarded"],
  ["by a form", { settings: { confirm: true }, method: "POST" }, "guarded"],
  ["by another method", { settings: { confirm: true }, method: "PUT" }, "method_not_allowed"],
])("%s: a link with %j is decided as %s", (_, asked, kind) => {
  expect(decide(requestOf(asked), linkOf(asked)).kind).toBe(kind as never);
});

test("no request makes it throw, and only a well-formed alias is fetched", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (method, path) => {
      const decision = decide(requestOf({ method, path: `/${path}` }), undefined);
      if (decision.kind === "miss")
        for (const { alias } of decision.names) expect(isAlias(alias)).toBeTrue();
    }),
  );
});

describe("a path beyond an alias", () => {
  test.each<[path: string, suffixesByAlias: Record<string, string>]>([
    ["/abc/d/e", { "abc/d/e": "", abc: "/d/e" }],
    ["/abc/d.", { "abc/d": "", abc: "/d." }],
    ["/abc/d%2Fe", { abc: "/d%2Fe" }],
    ["/abc//d", { abc: "//d" }],
    ["/abc+", { abc: "+" }],
    ["/abc/d+", { "abc/d": "+", abc: "/d+" }],
    ["//abc/d", { "abc/d": "" }],
    ["/abc++", { abc: "" }],
    ["/a.b/c", { "a.b/c": "", "a.b": "/c" }],
    ["/r%C3%A9/%f0%9f%8e%88", { "ré/🎈": "", ré: "/%f0%9f%8e%88" }],
    [`/abc/${"d".repeat(1_100)}`, { abc: `/${"d".repeat(1_100)}` }],
  ])("%s is looked up as a whole, then by its first segment", (path, suffixes) => {
    const names = namesOf(path).map(({ alias, suffix }) => [alias, suffix]);
    expect(names).toEqual(Object.entries(suffixes));
  });

  test.each(["/-a/b", "/+", "/a+/b", "/abc%2Fd", "/healthz/a", "/.well-known/a", "/Robots.txt"])(
    "%s means no link",
    (path) => expect(namesOf(path)).toEqual([]),
  );

  const APPEND = { forward_path: "append" } as const;
  const IGNORE = { forward_path: "ignore" } as const;

  test.each<[path: string, Case, kind: string]>([
    // It leads somewhere only for a link that forwards it.
    ["/abc/d", {}, "not_found"],
    ["/abc/d", { link: { expires_at: 1 } }, "not_found"],
    ["/abc/d", { settings: APPEND }, "redirect"],
    ["/abc/d", { settings: IGNORE }, "redirect"],
    ["/abc/d", { settings: APPEND, link: { expires_at: 1 } }, "expired"],
    ["/abc/d", { settings: IGNORE, link: PASSWORD }, "password"],
    ["/abc/%2e%2e%2fd", { settings: APPEND }, "bad_request"],
    ["/abc/%2e%2e%2fd", { settings: IGNORE }, "redirect"],
    // The page about a link is there for one that is followed without a password.
    ["/abc+", {}, "about"],
    ["/abc+", { settings: { preview: { title: "Card" } } }, "about"],
    ["/abc+", { link: PASSWORD }, "not_found"],
    ["/abc+", { link: PASSWORD, method: "POST" }, "not_found"],
    ["/abc+", { link: { expires_at: 1 } }, "expired"],
    ["/abc+", { method: "POST" }, "method_not_allowed"],
  ])("%s with %j is decided as %s", (path, asked, kind) => {
    const { alias, suffix = "" } = namesOf(path).at(-1) ?? {};
    expect(alias).toBe("abc");
    expect(decideAt(requestOf({ ...asked, path }), suffix, linkOf(asked)).kind).toBe(kind as never);
  });

  test("shows no page about a link with a limit or a confirmation, whoever asks", () => {
    for (const guard of [{ limit: LIMIT }, { confirm: true }] as const)
      for (const method of ["GET", "HEAD", "POST"])
        for (const userAgent of ["", "Mozilla/5.0", "Twitterbot/1.0"])
          for (const settings of [guard, { ...guard, preview: { title: "Card" } }]) {
            const asked = { method, userAgent, settings };
            expect(decideAt(requestOf(asked), "+", linkOf(asked)).kind).toBe("not_found");
          }
  });
});
