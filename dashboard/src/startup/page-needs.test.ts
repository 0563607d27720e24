import { expect, test } from "bun:test";

import { pathsOfFirstRequests } from "./page-needs.ts";

const first = (pathname: string, search = "") => pathsOfFirstRequests({ pathname, search });

test("the list of links begins with its own request, as the page has it", () => {
  expect(first("/acct_1/live/links")).toEqual([
    "/api/acct_1/live/v1/links?sort=created_at&order=desc&limit=20&include=settings&starting_after=",
  ]);
  expect(first("/acct_1/test/links", "?tag=a%20b&tag=c&search=x&limit=50&after=cur")).toEqual([
    "/api/acct_1/test/v1/links?sort=created_at&order=desc&limit=50&search=x&tag=a+b&tag=c" +
      "&include=settings&starting_after=cur",
  ]);
});

const COUNTS = "?timezone=UTC&period=7d&compare=previous";

test("the page of a link begins with the link and its counts", () => {
  expect(first("/acct_1/live/links/link_2", "?period=7d&timezone=UTC")).toEqual([
    "/api/acct_1/live/v1/links/link_2?include=settings",
    `/api/acct_1/live/v1/analytics/link_2${COUNTS}`,
  ]);
});

test.each([
  ["/analytics", "?period=7d&timezone=UTC", COUNTS],
  [
    "/analytics",
    "?period=all&timezone=UTC&device=mobile",
    "?timezone=UTC&period=all&device=mobile",
  ],
  [
    "/analytics",
    "?start=2026-01-01&end=2026-01-02&timezone=UTC&compare=none&country=-DE",
    "?timezone=UTC&start_date=2026-01-01&end_date=2026-01-02&country=-DE",
  ],
  [
    "/tags/50%20%25",
    "?period=7d&timezone=UTC",
    "?timezone=UTC&period=7d&tag=50+%25&compare=previous",
  ],
  [
    "/domains/go.example",
    "?period=7d&timezone=UTC",
    "?timezone=UTC&period=7d&domain=go.example&compare=previous",
  ],
])("the analytics of %s%s begin with their counts", (path, search, query) => {
  expect(first(`/acct_1/live${path}`, search)).toEqual([`/api/acct_1/live/v1/analytics${query}`]);
});

test.each([
  "/",
  "/acct_1/live",
  "/acct_1/live/links/import",
  "/acct_1/live/links/link_2/rules",
  "/acct_1/live/tags",
  "/acct_1/live/tags/%E0",
  "/acct_1/live/analytics/x",
  "/acct_1/other/links",
  "/invite/links",
  "//evil.example/live/links",
])("%s has no such request", (path) => {
  expect(first(path)).toEqual([]);
});
