/** Goal: nobody fetches files without end, and nobody pays for those of another network. */
import { describe, expect, spyOn, test } from "bun:test";

import { FakeApi } from "../../test/harness/fake-api.ts";
import { ApiError } from "../http/errors.ts";
import { FileBudget } from "./windows.ts";

const MIB = 1024 ** 2;

const ownAddress = (): string => "203.0.113.1";

/** How many files of a size an address gets until it is refused, at most 10,000. */
function fetchAll(budget: FileBudget, addressOf: (i: number) => string, bytes: number): number {
  for (let i = 0; i < 10_000; i++)
    try {
      budget.charge(addressOf(i), bytes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      expect(error.reason).toBe("rate_limited");
      return i;
    }
  return 10_000;
}

describe("the bytes of files", () => {
  test("are bounded for each network, and come back with time", () => {
    let now = 0;
    const budget = new FileBudget(() => now);
    const first = fetchAll(budget, ownAddress, MIB);
    expect(first).toBeGreaterThan(200);
    expect(first).toBeLessThan(300);
    expect(fetchAll(budget, () => "203.0.113.2", MIB)).toBe(first);
    now += 10_000;
    const later = fetchAll(budget, ownAddress, MIB);
    expect(later).toBeGreaterThan(0);
    expect(later).toBeLessThan(first / 2);
  });

  test("are bounded for all networks of an IPv6 site together", () => {
    const budget = new FileBudget(() => 0);
    const fetched = fetchAll(budget, (i) => `2001:db8:0:${i.toString(16)}::1`, MIB);
    expect(fetched).toBeGreaterThan(2_000);
    expect(fetched).toBeLessThan(3_000);
  });

  test("are charged also for a response without any", () => {
    const budget = new FileBudget(() => 0);
    expect(fetchAll(budget, ownAddress, 0)).toBe(10_000);
    for (let i = 0; i < 20; i++) fetchAll(budget, ownAddress, 0);
    expect(fetchAll(budget, ownAddress, 0)).toBe(0);
  });
});

test("the files of the reference are charged, and refused to who has fetched too many", async () => {
  const api = new FakeApi({});
  const key = api.addKey();
  using charge = spyOn(FileBudget.prototype, "charge");
  const paths = [
    "/docs",
    "/docs/start.js",
    "/docs/swagger-ui.css",
    "/docs/errors",
    "/v1/openapi.json",
  ];
  const lengths: number[] = [];
  for (const path of paths) lengths.push(Buffer.byteLength((await api.send(path)).text));
  expect(charge.mock.calls.map(([, bytes]) => bytes)).toEqual(lengths);
  charge.mockImplementation(() => {
    throw new ApiError("rate_limited", "Too many files.", { retryAfterSeconds: 3 });
  });
  for (const path of paths) {
    const { status, headers } = await api.send(path);
    expect([path, status, headers.get("retry-after")]).toEqual([path, 429, "3"]);
  }
  expect((await api.send("/v1/limits", { key })).status).toBe(200);
});
