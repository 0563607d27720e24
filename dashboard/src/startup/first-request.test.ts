import { expect, test } from "bun:test";

import { pathOfFirstRequest } from "./first-request.ts";

const first = (pathname: string, search = "") => pathOfFirstRequest({ pathname, search });

test("the list of links begins with its own request, as the page has it", () => {
  expect(first("/acct_1/live/links")).toBe(
    "/api/acct_1/live/v1/links?sort=created_at&order=desc&limit=20&include=settings&starting_after=",
  );
  expect(first("/acct_1/test/links", "?tag=a%20b&tag=c&search=x&limit=50&after=cur")).toBe(
    "/api/acct_1/test/v1/links?sort=created_at&order=desc&limit=50&search=x&tag=a+b&tag=c" +
      "&include=settings&starting_after=cur",
  );
});

test("the page of a link begins with the link", () => {
  expect(first("/acct_1/live/links/link_2", "?period=7d")).toBe("/api/acct_1/live/v1/links/link_2");
});

test.each([
  "/",
  "/acct_1/live",
  "/acct_1/live/links/import",
  "/acct_1/live/links/link_2/rules",
  "/acct_1/live/analytics",
  "/acct_1/other/links",
  "/invite/links",
  "//evil.example/live/links",
])("%s has no such request", (path) => {
  expect(first(path)).toBeUndefined();
});
