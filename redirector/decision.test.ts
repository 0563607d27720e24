import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { decide, locationOf, type ShortRequest } from "./decision.ts";
import type { CachedLink } from "./link-cache.ts";

const link = (change: Partial<CachedLink> = {}): CachedLink => ({
  version: 1,
  ids: "",
  mode: "live",
  destination: "https://example.com/a?x=1",
  expires_at: null,
  password_hash: null,
  forward_query: false,
  ...change,
});

const get = (change: Partial<ShortRequest> = {}): ShortRequest => ({
  method: "GET",
  path: "/abc",
  query: "",
  domain: "",
  ...change,
});

const NOW = 1_000;

describe("the decision", () => {
  test("a link in memory redirects, for GET and HEAD alike", () => {
    const known = link();
    for (const method of ["GET", "HEAD"]) {
      expect(decide(get({ method }), NOW, () => known)).toEqual({
        kind: "redirect",
        link: known,
        location: known.destination,
      });
    }
  });

  test("expiry is judged as the request comes", () => {
    const expiring = link({ expires_at: NOW });
    expect(decide(get(), NOW - 1, () => expiring).kind).toBe("redirect");
    expect(decide(get(), NOW, () => expiring).kind).toBe("expired");
  });

  test.each<[string, Partial<ShortRequest>, CachedLink | null | undefined, string]>([
    ["a link that is not in memory", {}, undefined, "miss"],
    ["a link known to be deleted", {}, null, "not_found"],
    ["a host that is not served", { domain: undefined }, link(), "not_found"],
    ["a path that is no alias", { path: "/a/b" }, undefined, "not_found"],
    ["an alias with an escape", { path: "/%61bc" }, undefined, "not_found"],
    ["the root", { path: "/" }, link(), "root"],
    ["the root of a custom domain", { path: "/", domain: "go.example.com" }, link(), "not_found"],
    ["robots.txt", { path: "/robots.txt" }, link(), "robots"],
    ["the icon", { path: "/favicon.ico" }, link(), "favicon"],
    ["a link with a password", {}, link({ password_hash: "x" }), "password"],
    ["a password that is sent", { method: "POST" }, link({ password_hash: "x" }), "password"],
    ["an expired link with a password", {}, link({ password_hash: "x", expires_at: 1 }), "expired"],
    ["a form sent to a plain link", { method: "POST" }, link(), "method_not_allowed"],
    ["another method", { method: "PUT" }, link(), "method_not_allowed"],
    ["a form sent to the root", { method: "POST", path: "/" }, link(), "method_not_allowed"],
  ])("%s", (_name, request, known, kind) => {
    expect(decide(get(request), NOW, () => known).kind).toBe(kind as never);
  });

  test("no request makes it throw, and only a well-formed alias is fetched", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (method, path, query) => {
        const asked: string[] = [];
        const decision = decide(
          { method, path: `/${path}`, query, domain: "" },
          NOW,
          (_, alias) => {
            asked.push(alias);
            return undefined;
          },
        );
        if (decision.kind === "miss") {
          expect(decision.alias).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/);
        }
        expect(asked.length).toBeLessThan(2);
      }),
    );
  });
});

describe("forwarding the query", () => {
  test("is for links that want it", () => {
    expect(locationOf(link(), "y=2")).toBe("https://example.com/a?x=1");
    expect(locationOf(link({ forward_query: true }), "y=2&y=3")).toBe(
      "https://example.com/a?x=1&y=2&y=3",
    );
  });

  test("never replaces what the link itself says", () => {
    expect(locationOf(link({ forward_query: true }), "x=9&y=2")).toBe(
      "https://example.com/a?x=1&y=2",
    );
  });
});
