/** Goal: who has the right id and the key of the other mode is told so, and nobody else. */
import { expect, test } from "bun:test";

import { encodeId, newUuid } from "../shared/ids.ts";
import { forFile } from "../test/harness/for-file.ts";
import { anyVersion, startPostgres } from "../test/harness/postgres.ts";
import { type Principal, SYSTEM } from "./http/principal.ts";

const postgres = await forFile(startPostgres());

const callerOf = (accountId: Principal["accountId"], mode: Principal["mode"]): Principal => ({
  accountId,
  mode,
  plan: "pro",
  actor: SYSTEM,
  callerId: newUuid(),
  scopes: [],
});

const messageOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "found",
    (error: unknown) => error instanceof Error && error.message,
  );

test("an id of the other mode is not found, and said to be there, to its own account alone", async () => {
  const { links, keys } = postgres;
  const accountId = await postgres.addAccount();
  const [live, test] = [callerOf(accountId, "live"), callerOf(accountId, "test")];
  const stranger = callerOf(await postgres.addAccount(), "live");
  const { link } = await links.create(test, newUuid(), { url: "https://example.com/" });
  const key = (await keys.createFirst(accountId)).row;
  const there = "The link does not exist in live mode. It is in test mode: use a test key.";
  const nowhere = "The link does not exist.";
  const id = encodeId("link", link.id);

  expect(await messageOf(links.get(test, link.id))).toBe("found");
  expect(await messageOf(links.get(live, link.id))).toBe(there);
  expect(await messageOf(links.update(live, link.id, { title: "T" }, anyVersion))).toBe(there);
  expect(await messageOf(links.remove(live, link.id, anyVersion))).toBe(there);
  const { results } = await links.removeMany(live, [id, encodeId("link", newUuid())]);
  expect(results.map((row) => ("error" in row ? row.error.message : "found"))).toEqual([
    there,
    nowhere,
  ]);
  expect(await messageOf(links.get(stranger, link.id))).toBe(nowhere);
  expect(await messageOf(links.remove(stranger, link.id, anyVersion))).toBe(nowhere);
  expect(await messageOf(keys.get(test, key.id))).toBe(
    "The key does not exist in test mode. It is in live mode: use a live key.",
  );
  expect(await messageOf(keys.get(stranger, key.id))).toBe("The key does not exist.");
});
