import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { type CachedLink, newLink } from "./cache/record.ts";
import { decide, type ShortRequest, withQuery } from "./decision.ts";

const link = (change: Partial<CachedLink> = {}): CachedLink => ({ ...newLink(), ...change });

const get = (change: Partial<ShortRequest> = {}): ShortRequest => ({
  method: "GET",
  path: "/abc",
  domain: "",
  ...change,
});

const NOW = 1_000;

describe("the decision", () => {
  test("a link in memory redirects, for GET and HEAD alike", () => {
    const known = link();
    for (const method of ["GET", "HEAD"]) {
      expect(decide(get({ method }), known, NOW)).toEqual({ kind: "redirect", link: known });
    }
  });

  test("expiry is judged as the request comes", () => {
    const expiring = link({ expires_at: NOW });
    expect(decide(get(), expiring, NOW - 1).kind).toBe("redirect");
    expect(decide(get(), expiring, NOW).kind).toBe("expired");
  });

  test.each<[string, Partial<ShortRequest>, CachedLink | null | undefined, string]>([
    ["a link that is not in memory", {}, undefined, "miss"],
    ["a link known to be deleted", {}, null, "not_found"],
    ["a host that is not served", { domain: undefined }, link(), "not_found"],
    ["a path that is no alias", { path: "/a/b" }, undefined, "not_found"],
    ["an alias with an escape", { path: "/%61bc" }, undefined, "not_found"],
    ["the root", { path: "/" }, undefined, "root"],
    [
      "the root of a custom domain",
      { path: "/", domain: "go.example.com" },
      undefined,
      "not_found",
    ],
    ["robots.txt", { path: "/robots.txt" }, undefined, "robots"],
    ["the icon", { path: "/favicon.ico" }, undefined, "favicon"],
    ["a link with a password", {}, link({ password_hash: "x" }), "password"],
    ["a password that is sent", { method: "POST" }, link({ password_hash: "x" }), "password"],
    ["an expired link with a password", {}, link({ password_hash: "x", expires_at: 1 }), "expired"],
    ["a form sent to a plain link", { method: "POST" }, link(), "method_not_allowed"],
    ["another method", { method: "PUT" }, link(), "method_not_allowed"],
    ["a form sent to the root", { method: "POST", path: "/" }, undefined, "method_not_allowed"],
  ])("%s", (_name, request, known, kind) => {
    expect(decide(get(request), known, NOW).kind).toBe(kind as never);
  });

  test("no request makes it throw, and only a well-formed alias is fetched", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (method, path) => {
        const decision = decide({ method, path: `/${path}`, domain: "" }, undefined, NOW);
        if (decision.kind === "miss") {
          expect(decision.alias).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/);
        }
      }),
    );
  });
});

describe("forwarding the query", () => {
  test("adds it to the link's own, and never replaces what the link itself says", () => {
    const destination = "https://example.com/a?x=1";
    expect(withQuery(destination, "y=2&y=3")).toBe("https://example.com/a?x=1&y=2&y=3");
    expect(withQuery(destination, "x=9&y=2")).toBe("https://example.com/a?x=1&y=2");
  });
});
