import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { ALIAS_PATTERN } from "../shared/contracts/alias.ts";
import { type CachedLink, emptyLink } from "./cache/record.ts";
import { decide, type ShortRequest } from "./decision.ts";

const link = (change: Partial<CachedLink> = {}): CachedLink => ({ ...emptyLink(), ...change });

const get = (change: Partial<ShortRequest> = {}): ShortRequest => ({
  method: "GET",
  path: "/abc",
  domain: "",
  ...change,
});

const NOW = 1_000;

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

  test.each<[string, Partial<ShortRequest>, CachedLink | null | undefined, string]>([
    ["a link that is not cached", {}, undefined, "miss"],
    ["a link known to be deleted", {}, null, "not_found"],
    ["a host that is not served", { domain: undefined }, link(), "not_found"],
    ["a path that is not an alias", { path: "/a/b" }, undefined, "not_found"],
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
        const decision = decide({ method, path: `/${path}`, domain: "" }, undefined, NOW);
        if (decision.kind === "miss") {
          expect(decision.alias).toMatch(ALIAS_PATTERN);
        }
      }),
    );
  });
});
