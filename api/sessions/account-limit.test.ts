import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { AccountLimit } from "./account-limit.ts";

/** Returns how many requests of an account are granted, and what the next one gets. */
function exhaust(limit: AccountLimit, account: { accountId: string; plan: string }) {
  const headers = {};
  for (let granted = 0; granted < 20_000; granted++) {
    try {
      limit.enforce(account, headers);
    } catch (error) {
      return { granted, headers, error };
    }
  }
  throw new Error("There is no limit.");
}

test("the users of an account have as many requests together as its plan says, and no other's", () => {
  const limit = new AccountLimit();
  const account = { accountId: newUuid(), plan: "free" };
  const { granted, headers, error } = exhaust(limit, account);
  expect([granted, error]).toMatchObject([2_400, { reason: "rate_limited" }]);
  expect(headers).toMatchObject({ "x-ratelimit-limit": "2400", "x-ratelimit-remaining": "0" });
  for (const [plan, expected] of [
    ["free", 2_400],
    ["pro", 6_000],
    ["business", 12_000],
    ["of its own", 2_400],
  ] as const)
    expect([plan, exhaust(limit, { accountId: newUuid(), plan }).granted]).toEqual([
      plan,
      expected,
    ]);
});
