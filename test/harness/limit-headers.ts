/** What every response says of its caller's limits. */
import { expect } from "bun:test";

import type { ApiResponse } from "./api.ts";

/** Of a response to any request, also of a rejection. */
export function expectLimitHeaders({ headers }: ApiResponse): void {
  for (const name of ["limit", "remaining", "reset"]) {
    expect(headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
  }
  expect(headers.get("x-ratelimit-policy")).toMatch(/^\d+;w=\d+$/);
  expect(headers.get("x-request-id")).toBeTruthy();
}
