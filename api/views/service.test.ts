/**
 * Goal: views belong to one account and mode, a name is one view, and their number is bounded
 * whoever saves at once.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import { startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import type { AccountScope } from "../http/principal.ts";
import { createViewService, type ViewService } from "./service.ts";

// Starting a real server takes long on a busy machine.
setDefaultTimeout(60_000);

let postgres: TestPostgres;
let views: ViewService;
beforeAll(async () => {
  postgres = await startPostgres();
  views = createViewService({ sql: postgres.sql });
});
afterAll(async () => await postgres[Symbol.asyncDispose]());

const newOwner = async (): Promise<AccountScope> => ({
  accountId: await postgres.addAccount(),
  mode: "live",
});

const namesOf = async (owner: AccountScope): Promise<string[]> =>
  (await views.list(owner)).map(({ name }) => name);

test("a view that is saved again replaces the one with its name, and keeps when it was created", async () => {
  const owner = await newOwner();
  const first = await views.save(owner, { name: "Phones", query: "device=mobile" });
  await views.save(owner, { name: "phones", query: "device=tablet" });
  const again = await views.save(owner, { name: "Phones", query: "device=mobile&country=DE" });
  expect(again.created_at).toEqual(first.created_at);
  expect(again.updated_at.getTime()).toBeGreaterThanOrEqual(first.updated_at.getTime());
  const queries = (await views.list(owner)).map(({ name, query }) => [name, query] as const);
  expect(new Map(queries)).toEqual(
    new Map([
      ["Phones", "device=mobile&country=DE"],
      ["phones", "device=tablet"],
    ]),
  );
});

test("other accounts and the other mode have views of their own", async () => {
  const [owner, other] = [await newOwner(), await newOwner()];
  await views.save(owner, { name: "Phones", query: "device=mobile" });
  expect(await namesOf(other)).toEqual([]);
  expect(await namesOf({ ...owner, mode: "test" })).toEqual([]);
  const removal = views.remove(other, "Phones");
  expect(await removal.catch(({ reason }) => reason)).toBe("not_found");
  expect(await namesOf(owner)).toEqual(["Phones"]);
});

test("a view that is deleted is gone", async () => {
  const owner = await newOwner();
  await views.save(owner, { name: "Phones", query: "" });
  await views.remove(owner, "Phones");
  expect(await namesOf(owner)).toEqual([]);
  expect(await views.remove(owner, "Phones").catch(({ reason }) => reason)).toBe("not_found");
});

test("an account has at most 100 views, also when many are saved at once; one of them can be replaced", async () => {
  const owner = await newOwner();
  const saves = Array.from({ length: 110 }, (_, i) =>
    views.save(owner, { name: `View ${i}`, query: "" }).catch(({ reason }) => String(reason)),
  );
  const outcomes = await Promise.all(saves);
  expect(outcomes.filter((outcome) => outcome === "quota_exceeded").length).toBe(10);
  const names = await namesOf(owner);
  expect(names.length).toBe(100);
  const { query } = await views.save(owner, { name: names[0] ?? "", query: "period=7d" });
  expect(query).toBe("period=7d");
});

test("the table takes no longer names and queries than the API", async () => {
  const { accountId } = await newOwner();
  const insert = (name: string, query: string) =>
    postgres.sql`
      insert into saved_views (account_id, mode, name, query) values (${accountId}, 'live', ${name}, ${query})`.then(
      () => "saved",
      () => "rejected",
    );
  expect(await insert("x".repeat(100), "x".repeat(8_000))).toBe("saved");
  expect(await insert("x".repeat(101), "")).toBe("rejected");
  expect(await insert("", "")).toBe("rejected");
  expect(await insert("y", "x".repeat(8_001))).toBe("rejected");
});
