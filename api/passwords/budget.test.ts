/**
 * Goal: no account causes more hashing of its links' passwords than its budget, by whichever
 * operation it sets them.
 */
import { expect, spyOn, test } from "bun:test";

import { boundsOf } from "../../shared/budgets.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { useUp } from "../../test/harness/budgets.ts";
import { fakeService } from "../../test/harness/fake-service.ts";
import { forFile } from "../../test/harness/for-file.ts";
import {
  anyVersion,
  createLinksOn,
  startPostgres,
  upsertLink,
} from "../../test/harness/postgres.ts";
import { ApiError } from "../http/errors.ts";
import { budgets } from "../limits/budgets.ts";
import { SharedService } from "../shares/reading.ts";
import { ShareService } from "../shares/service.ts";
import { PasswordHashing } from "./hashing.ts";

/** Passwords that a free account may set at once. */
const { atOnce } = boundsOf("link_passwords", "free");

const postgres = await forFile(startPostgres());
const { sql } = postgres;
const passwords = new PasswordHashing();
const links = createLinksOn(sql, { passwords });
const shares = new ShareService(sql, links, passwords);

const newOwner = async () => ({
  ...(await postgres.addWriter("free")),
  scopes: ["analytics:read", "links:read"],
});

const url = "https://example.com/";
const password = "correct horse";

/** The error of a refused operation, with its wait in seconds. */
async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  return error instanceof ApiError
    ? [error.reason, error.status, error.headers["retry-after"]]
    : error;
}

/**
 * An owner of a link who has nothing left: one request has taken three passwords, one more than
 * there were.
 */
async function overdraw(): Promise<{ owner: Awaited<ReturnType<typeof newOwner>>; id: Uuid }> {
  const owner = await newOwner();
  budgets.spend(owner, "link_passwords", atOnce - 2);
  const rows = [{ url, password }, { url, password }, { url, password }, { url }];
  const { results } = await links.createMany(owner, newUuid(), rows);
  // Hashing takes a while, in which some of it is back.
  useUp(owner, "link_passwords");
  const created = results.flatMap((result) => ("link" in result ? result.link : []));
  expect(created.map(({ password_hash }) => password_hash !== null)).toEqual([
    true,
    true,
    true,
    false,
  ]);
  return { owner, id: created.at(-1)?.id ?? newUuid() };
}

test("an account that has set as many passwords as it may waits with every way to set one, and none is hashed", async () => {
  const { owner, id } = await overdraw();
  const { row: share } = await shares.create(owner, newUuid(), {});
  const hashing = spyOn(Bun.password, "hash");
  try {
    const refused = await Promise.all(
      [
        links.create(owner, newUuid(), { url, password }),
        links.createMany(owner, newUuid(), [{ url, password }, { url }]),
        links.update(owner, id, { password }, anyVersion),
        links.updateMany(owner, [{ id: encodeId("link", id), password }]),
        upsertLink(links, owner, "one", { url, password }),
        shares.create(owner, newUuid(), { password }),
        shares.update(owner, share.id, { password }),
      ].map(refusalOf),
    );
    expect(refused).toEqual(refused.map(() => ["rate_limited", 429, expect.any(String)]));
    expect(hashing).not.toHaveBeenCalled();
    // What needs no hash is not held up.
    await links.update(owner, id, { password: null, title: "Open" }, anyVersion);
    await links.createMany(owner, newUuid(), [{ url }]);
    expect(await links.checkMany(owner, [{ url, password }])).toEqual([undefined]);
    await shares.update(owner, share.id, { password: null });
    expect(hashing).not.toHaveBeenCalled();
  } finally {
    hashing.mockRestore();
  }
});

test("others set theirs meanwhile, and rows that are invalid cost nothing", async () => {
  await overdraw();
  const other = await newOwner();
  const spend = spyOn(budgets, "spend");
  try {
    const invalid = Array.from({ length: 10 }, () => ({ url, password, nonsense: true }));
    await links.createMany(other, newUuid(), invalid);
    expect(spend).not.toHaveBeenCalledWith(expect.anything(), "link_passwords", expect.anything());
    await links.create(other, newUuid(), { url, password });
    expect(spend).toHaveBeenCalledWith(expect.anything(), "link_passwords", 1);
  } finally {
    spend.mockRestore();
  }
});

test("requests at the same time share the budget", async () => {
  const owner = await newOwner();
  budgets.spend(owner, "link_passwords", atOnce - 2);
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, () => refusalOf(links.create(owner, newUuid(), { url, password }))),
  );
  expect(outcomes.filter(Array.isArray)).toHaveLength(3);
});

test("a network has few passwords of shared statistics verified, right ones too, and others are not held up", async () => {
  const { token } = await shares.create(await newOwner(), newUuid(), { password });
  let verified = 0;
  const passwords = fakeService<PasswordHashing>("passwords", {
    verifyForAccount() {
      verified++;
      return Promise.resolve(true);
    },
  });
  const shared = new SharedService(
    postgres.sql,
    fakeService("analytics"),
    links,
    fakeService("branding"),
    passwords,
    "https://sho.rt",
  );
  for (let i = 0; i < 100; i++) await shared.unlock(token, password, "203.0.113.1");
  const refused = await refusalOf(shared.unlock(token, password, "203.0.113.1"));
  expect(refused).toEqual(["rate_limited", 429, expect.any(String)]);
  expect(verified).toBe(100);
  await shared.unlock(token, password, "203.0.113.2");
});
