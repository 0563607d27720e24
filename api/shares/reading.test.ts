/**
 * Goal: whoever reads an account's shares, and however many there are, the account pays, and others
 * are not held up.
 */
import { beforeEach, expect, test } from "bun:test";

import { boundsOf, WINDOWS } from "../../shared/budgets.ts";
import { newUuid } from "../../shared/ids.ts";
import { fakeService } from "../../test/harness/fake-service.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import { BrandingService } from "../branding/service.ts";
import { ApiError } from "../http/errors.ts";
import { SYSTEM, type Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import { PasswordHashing } from "../passwords/hashing.ts";
import { SharedService } from "./reading.ts";
import { ShareService } from "./service.ts";

/** Milliseconds that the statistics of a share take ClickHouse. */
const STATISTICS_MS = 1_000;

const SHARES = 60;

const { atOnce } = boundsOf("shared_statistics", "free");

const summary = {
  total_clicks: 0,
  unique_clicks: 0,
  avg_daily_clicks: 0,
  clicks_per_day: 0,
  bot_clicks: 0,
  prefetch_clicks: 0,
};

const computed: string[] = [];
const postgres = await forFile(startPostgres());
const { sql, links } = postgres;
const passwords = new PasswordHashing();
const shares = new ShareService(sql, links, passwords);
const analytics = fakeService<AnalyticsService>("analytics", {
  overview(owner) {
    computed.push(owner.accountId);
    budgets.spend(owner, owner.paysWith ?? "statistics", STATISTICS_MS);
    return Promise.resolve({ period: "", summary, clicks_over_time: [], breakdowns: [] });
  },
});
const branding = new BrandingService(sql);
const shared = new SharedService(sql, analytics, links, branding, passwords, "https://sho.rt");
beforeEach(() => void computed.splice(0));

async function addShares(count: number) {
  const owner: Writer & { scopes: string[] } = {
    accountId: await postgres.addAccount("free"),
    mode: "live",
    plan: "free",
    actor: SYSTEM,
    scopes: ["analytics:read", "links:read"],
  };
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) tokens.push((await shares.create(owner, newUuid(), {})).token);
  return { owner, tokens };
}

const read = (token: string, query = {}): Promise<unknown> =>
  shared.read(token, undefined, query).then(
    () => "read",
    (error: unknown) => (error instanceof ApiError ? error.message : error),
  );

test("many shares together take no more of ClickHouse than the account may, and others are read", async () => {
  const { owner, tokens } = await addShares(SHARES);
  const { tokens: others } = await addShares(1);
  const outcomes: unknown[] = [];
  for (const token of tokens) outcomes.push(await read(token));
  console.log(`${computed.length} of ${SHARES} shares were computed`);
  expect(computed.length).toBeLessThan(atOnce / STATISTICS_MS + 5);
  // One of the last may be computed: time refills what has been used.
  expect(outcomes.findLast((outcome) => outcome !== "read")).toContain("(shared_statistics: ");
  // What has been computed is served for a minute, whatever is left.
  expect(await read(tokens[0] ?? "")).toBe("read");
  expect(await read(others[0] ?? "")).toBe("read");
  // Strangers take nothing from what the account may read by itself.
  const own = budgets.list(owner).find(({ name }) => name === "statistics");
  expect(own?.left).toBe(own?.atOnce);
});

test("who tries many ranges leaves the half for the named periods", async () => {
  const { tokens } = await addShares(1);
  const [token = ""] = tokens;
  const outcomes: unknown[] = [];
  for (let day = 1; day <= 20; day++) {
    const date = `2026-01-${String(day).padStart(2, "0")}`;
    outcomes.push(await read(token, { start_date: date, end_date: date }));
  }
  // One of the last may be read: time refills what is missing to the half.
  expect(outcomes.findLast((outcome) => outcome !== "read")).toContain("(shared_statistics: ");
  expect(computed.length).toBeLessThan(atOnce / 2 / STATISTICS_MS + 5);
  expect(await read(token, { period: "7d" })).toBe("read");
});

test("a share with another URL is read by that, and no longer by the one before", async () => {
  const { owner, tokens } = await addShares(1);
  const [old = ""] = tokens;
  expect(await read(old)).toBe("read");
  const { rows } = await shares.list(owner, { limit: 1, page: 1 });
  const caller = { ...owner, scopes: ["analytics:read", "links:read"] };
  const { row, token } = await shares.rotate(caller, rows[0]?.id);
  expect(row.id).toBe(rows[0]?.id ?? "");
  expect([await read(token), await read(old)]).toEqual(["read", "The share does not exist."]);
  const reader = { ...caller, scopes: ["links:read"] };
  expect(await shares.rotate(reader, row.id).catch((error: unknown) => error)).toMatchObject({
    reason: "forbidden",
  });
});

test("a network guesses as many passwords as the limit says, and right ones take none of them", async () => {
  const { owner } = await addShares(0);
  const { token } = await shares.create(owner, newUuid(), { password: "correct horse" });
  const unlock = (password: string, address = "198.51.100.7") =>
    shared.unlock(token, password, address).then(
      () => "open",
      (error: unknown) => (error instanceof ApiError ? error.reason : error),
    );
  expect(await unlock("correct horse")).toBe("open");
  for (let i = 0; i < WINDOWS.share_password_tries.limit; i++)
    expect(await unlock("wrong horse")).toBe("forbidden");
  expect(await unlock("correct horse")).toBe("rate_limited");
  expect(await unlock("correct horse", "203.0.113.7")).toBe("open");
});
