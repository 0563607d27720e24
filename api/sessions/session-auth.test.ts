/** Goal: the dashboard's calls of an account are counted whichever user and session makes them. */
import { expect, test } from "bun:test";

import { boundsOf } from "../../shared/budgets.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { SessionAuthenticator } from "./session-auth.ts";

const ACCESS = { scope: null, endpoint: null, cost: 1 } as const;

/** Each call is of another user, in another session. */
const authenticator = new SessionAuthenticator(
  {
    find: () =>
      Promise.resolve({
        id: newUuid(),
        user: { id: newUuid(), email: "a@example.com", name: "A" },
      }),
    requireValid: () => Promise.resolve(),
  },
  {
    findMembership: () =>
      Promise.resolve({ role: "owner", plan: "free", suspended: false, lacks_factor: false }),
  },
);

async function call(accountId: Uuid): Promise<string> {
  const request = new Request(`http://localhost/api/${encodeId("acct", accountId)}/live/v1/links`);
  const context = { call: { address: "192.0.2.1", requestId: "" }, request, headers: {} };
  try {
    await authenticator.authenticate(context, ACCESS);
    return "answered";
  } catch (error) {
    return error instanceof ApiError ? error.message : String(error);
  }
}

test("many sessions of an account together make no more calls than the account may", async () => {
  const { atOnce, perSecond } = boundsOf("dashboard_requests", "free");
  const [account, other] = [newUuid(), newUuid()];
  const startedAt = performance.now();
  const outcomes: string[] = [];
  for (let i = 0; i < 2 * atOnce; i++) outcomes.push(await call(account));
  const answered = outcomes.filter((outcome) => outcome === "answered").length;
  console.log(`${answered} of ${2 * atOnce} calls of as many sessions were answered`);
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(answered).toBeLessThanOrEqual(atOnce + Math.ceil(seconds * perSecond));
  expect(outcomes.find((outcome) => outcome !== "answered")).toContain("(dashboard_requests: ");
  expect(await call(other)).toBe("answered");
});
