/**
 * Goal: views belong to one account and mode, a name is one view, and their number is bounded
 * whoever saves at once.
 */
import { expect, test } from "bun:test";

import type { ViewKind } from "../../shared/contracts/view-schemas.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import type { Author } from "../http/principal.ts";
import { ViewService } from "./service.ts";

const postgres = await forFile(startPostgres());
const views = new ViewService(postgres.sql);

const namesOf = async (owner: Author): Promise<string[]> =>
  (await views.list(owner, "analytics")).map(({ name }) => name);

test("a view that is saved again replaces the one with its name, and keeps when it was created", async () => {
  const owner = await postgres.addWriter();
  const first = await views.save(owner, "analytics", { name: "Phones", query: "device=mobile" });
  await views.save(owner, "analytics", { name: "phones", query: "device=tablet" });
  const again = await views.save(owner, "analytics", {
    name: "Phones",
    query: "device=mobile&country=DE",
  });
  expect(again.created_at).toEqual(first.created_at);
  expect(again.updated_at.getTime()).toBeGreaterThanOrEqual(first.updated_at.getTime());
  const queries = (await views.list(owner, "analytics")).map(
    ({ name, query }) => [name, query] as const,
  );
  expect(new Map(queries)).toEqual(
    new Map([
      ["Phones", "device=mobile&country=DE"],
      ["phones", "device=tablet"],
    ]),
  );
});

test("other accounts and the other mode have views of their own", async () => {
  const [owner, other] = [await postgres.addWriter(), await postgres.addWriter()];
  await views.save(owner, "analytics", { name: "Phones", query: "device=mobile" });
  expect(await namesOf(other)).toEqual([]);
  expect(await namesOf({ ...owner, mode: "test" })).toEqual([]);
  const removal = views.remove(other, "analytics", "Phones");
  expect(await removal.catch(({ reason }) => reason)).toBe("not_found");
  expect(await namesOf(owner)).toEqual(["Phones"]);
});

test("an account has at most 100 views, also when many are saved at once; one of them can be replaced", async () => {
  const owner = await postgres.addWriter();
  const saves = Array.from({ length: 110 }, (_, i) =>
    views
      .save(owner, "analytics", { name: `View ${i}`, query: "" })
      .catch(({ reason }) => String(reason)),
  );
  const outcomes = await Promise.all(saves);
  expect(outcomes.filter((outcome) => outcome === "quota_exceeded").length).toBe(10);
  const names = await namesOf(owner);
  expect(names.length).toBe(100);
  const { query } = await views.save(owner, "analytics", {
    name: names[0] ?? "",
    query: "period=7d",
  });
  expect(query).toBe("period=7d");
});

test("a name of one kind says nothing of the others", async () => {
  const owner = await postgres.addWriter();
  await views.save(owner, "links", { name: "Spring", query: "utm_campaign=spring&tag=a&tag=b" });
  await views.save(owner, "utm", { name: "Spring", query: "utm_source=crm" });
  expect(await namesOf(owner)).toEqual([]);
  await views.remove(owner, "utm", "Spring");
  expect((await views.list(owner, "links")).map(({ query }) => query)).toEqual([
    "utm_campaign=spring&tag=a&tag=b",
  ]);
});

test.each<[ViewKind, string, string | undefined]>([
  ["links", "search=a%20b&created_after=2030-01-01T00%3A00%3A00Z&archived=any", undefined],
  ["links", "", undefined],
  ["links", "sort=clicks", "sort"],
  ["links", "created_after=yesterday", "created_after"],
  ["links", "domain=a.example&domain=b.example", "domain"],
  ["utm", "utm_source=a&utm_content=%C3%BC", undefined],
  ["utm", "utm_source=a&utm_id=1", "utm_id"],
  ["utm", `utm_source=${"x".repeat(256)}`, "utm_source"],
])("of the kind %s the query %p is refused for %p", async (kind, query, param) => {
  const saving = views.save(await postgres.addWriter(), kind, { name: "One", query });
  expect(
    await saving.then(
      () => undefined,
      (error) => error.param,
    ),
  ).toBe(param);
});
