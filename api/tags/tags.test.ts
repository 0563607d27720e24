/**
 * Goal: tags are listed with the links and clicks that they have, whatever has happened to the
 * links.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import type { PendingQuery, Row } from "postgres";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { useUp } from "../../test/harness/budgets.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import { anyVersion, startPostgres } from "../../test/harness/postgres.ts";
import { casesOf, longTest } from "../../test/harness/property-runs.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import type { LinkRow } from "../links/model.ts";
import type { CountedTag } from "./model.ts";
import { listTags, type TagsCursor, type TagsRequest } from "./service.ts";

type Fragment = PendingQuery<Row[]>;

const postgres = await forFile(startPostgres());

const newOwner = () => postgres.addWriter("free");

const url = "https://example.com/";

const create = async (owner: Writer, tags: string[]): Promise<LinkRow> =>
  (await postgres.links.create(owner, newUuid(), { url, tags })).link;

const tagsOf = async (owner: AccountScope, { id }: { id: Uuid }): Promise<string[]> =>
  (await postgres.links.get(owner, id)).tags;

/** Reads the whole list, in parts of `limit`. */
async function readAll(
  owner: Writer,
  { sort = "name", limit = 100, search = "" }: Partial<TagsRequest> = {},
): Promise<CountedTag[]> {
  const all: CountedTag[] = [];
  for (let after: TagsCursor | null = null; ;) {
    const { rows, next } = await postgres.tags.list(owner, { sort, limit, search, after });
    all.push(...rows);
    if (next === null) return all;
    after = next;
  }
}

const countsOf = async (owner: Writer) =>
  (await readAll(owner)).map(({ name, links }) => [name, links]);

/** The counts, from the links themselves. */
const recount = async ({ accountId, mode }: AccountScope) =>
  (
    await postgres.sql<{ name: string; links: number }[]>`
      select name collate "C" as name, count(*)::integer as links from links, unnest(tags) name
       where account_id = ${accountId} and mode = ${mode} group by 1 order by 1`
  ).map(({ name, links }) => [name, links]);

const setClicks = (id: Uuid, clicks: number) =>
  postgres.sql`update link_counters set clicks = ${clicks} where link_id = ${id}`;

describe("counts", () => {
  test("are those of the links after any changes of them", async () => {
    const names = ["a", "b", "ä", "C d", "e/f"];
    const someTags = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 });
    const change = fc.oneof(
      fc.record({
        type: fc.constant("create" as const),
        lists: fc.array(someTags, { maxLength: 4 }),
      }),
      fc.record({ type: fc.constant("update" as const), at: fc.nat(), tags: someTags }),
      fc.record({ type: fc.constant("title" as const), at: fc.nat() }),
      fc.record({ type: fc.constant("delete" as const), at: fc.nat() }),
      fc.record({
        type: fc.constant("merge" as const),
        tags: someTags,
        into: fc.constantFrom(...names),
      }),
      fc.record({ type: fc.constant("remove" as const), name: fc.constantFrom(...names) }),
    );
    const run = async (
      changes: readonly (typeof change extends fc.Arbitrary<infer T> ? T : never)[],
    ) => {
      const owner = await newOwner();
      const ids: Uuid[] = [];
      const idAt = (at: number): Uuid | undefined => ids[at % Math.max(1, ids.length)];
      for (const each of changes) {
        if (each.type === "create") {
          const rows = each.lists.map((tags) => ({ url, tags }));
          const { results } = await postgres.links.createMany(owner, newUuid(), rows);
          ids.push(...results.flatMap((result) => ("link" in result ? [result.link.id] : [])));
        } else if (each.type === "merge") {
          await postgres.tags.merge(owner, each.tags, each.into);
        } else if (each.type === "remove") {
          await outcomeOf(postgres.tags.remove(owner, each.name));
        } else {
          const id = idAt(each.at);
          if (id === undefined) continue;
          if (each.type === "update")
            await postgres.links.update(owner, id, { tags: each.tags }, anyVersion);
          else if (each.type === "title")
            await postgres.links.update(owner, id, { title: "T", archived: true }, anyVersion);
          else {
            await postgres.links.remove(owner, id, anyVersion);
            ids.splice(ids.indexOf(id), 1);
          }
        }
      }
      expect(await countsOf(owner)).toEqual(await recount(owner));
    };
    await fc.assert(fc.asyncProperty(fc.array(change, { maxLength: 12 }), run), {
      numRuns: casesOf(100),
    });
  });

  test("are exact when many requests change the same tags at once", async () => {
    const owner = await newOwner();
    const made = await Promise.all(Array.from({ length: 20 }, () => create(owner, ["x", "y"])));
    await Promise.all([
      ...made
        .slice(0, 8)
        .map(({ id }) => postgres.links.update(owner, id, { tags: ["y", "z"] }, anyVersion)),
      ...made.slice(8, 14).map(({ id }) => postgres.links.remove(owner, id, anyVersion)),
      ...Array.from({ length: 6 }, () => create(owner, ["z", "x"])),
      postgres.tags.merge(owner, ["x"], "y"),
      postgres.tags.merge(owner, ["y"], "x"),
    ]);
    expect(await countsOf(owner)).toEqual(await recount(owner));
  });

  test("belong to an account and mode, and a tag without links is gone", async () => {
    const owner = await newOwner();
    const { id } = await create(owner, ["only", "both"]);
    await create({ ...owner, mode: "test" }, ["both", "other"]);
    await create(await newOwner(), ["foreign"]);
    expect(await countsOf(owner)).toEqual([
      ["both", 1],
      ["only", 1],
    ]);
    await postgres.links.remove(owner, id, anyVersion);
    expect(await countsOf(owner)).toEqual([]);
    expect(await countsOf({ ...owner, mode: "test" })).toEqual([
      ["both", 1],
      ["other", 1],
    ]);
  });

  test("of clicks are the sums of the links' counters", async () => {
    const owner = await newOwner();
    const links = await Promise.all([create(owner, ["a", "b"]), create(owner, ["b"])]);
    await create(owner, ["never"]);
    await Promise.all(links.map(({ id }, i) => setClicks(id, 10 ** i)));
    expect((await readAll(owner)).map(({ name, clicks }) => [name, clicks])).toEqual([
      ["a", 1],
      ["b", 11],
      ["never", 0],
    ]);
  });
});

const byName = (a: CountedTag, b: CountedTag): number => (a.name < b.name ? -1 : 1);

describe("a list", () => {
  test("has every tag once, in the requested order, in parts of any size", async () => {
    const owner = await newOwner();
    for (const tags of [
      ["a", "b", "B", "ü"],
      ["b", "c"],
      ["b", "c", "z"],
      ["d", "Ü"],
    ])
      await create(owner, tags);
    for (const [i, { id }] of (
      await postgres.sql<{ id: Uuid }[]>`
        select id from links where account_id = ${owner.accountId} order by created_at, id`
    ).entries())
      await setClicks(id, i % 3);
    const all = await readAll(owner);
    const orders = {
      name: () => 0,
      links: (a: CountedTag, b: CountedTag) => b.links - a.links,
      clicks: (a: CountedTag, b: CountedTag) => (b.clicks ?? 0) - (a.clicks ?? 0),
    };
    for (const sort of ["name", "links", "clicks"] as const)
      for (const limit of [1, 2, 3, 100])
        expect([sort, limit, await readAll(owner, { sort, limit })]).toEqual([
          sort,
          limit,
          all.toSorted(byName).toSorted(orders[sort]),
        ]);
    expect((await readAll(owner, { search: "b" })).map(({ name }) => name)).toEqual(["B", "b"]);
    expect((await readAll(owner, { search: "ü", limit: 1 })).length).toBe(2);
    for (const nothing of ["%", "_", "\u0000", "zz"])
      expect(await readAll(owner, { search: nothing })).toEqual([]);
  });

  test("says where it goes on when it has examined its bound of tags and found few", async () => {
    const owner = await newOwner();
    await create(owner, ["a", "b", "c", "d", "needle"]);
    for (const sort of ["name", "links"] as const) {
      const first = await listTags(
        postgres.sql,
        owner,
        { sort, search: "needle", after: null },
        2,
        3,
      );
      expect([first.rows, first.end?.name]).toEqual([[], "c"]);
      const rest = { sort, search: "needle", after: first.end };
      const second = await listTags(postgres.sql, owner, rest, 2, 3);
      expect([second.rows.map(({ name }) => name), second.end]).toEqual([["needle"], null]);
    }
  });
});

describe("a large account", () => {
  longTest("lists its tags, but not by clicks, and searches them in parts", async () => {
    const owner = await newOwner();
    // Each link has 20 tags of its own.
    await insertLinks(
      owner,
      500,
      (i) => postgres.sql`array(select ${i} || '-' || n from generate_series(1, 20) n)`,
    );
    const byClicks = () =>
      postgres.tags.list(owner, { sort: "clicks", limit: 1, search: "", after: null });
    expect((await byClicks()).rows.length).toBe(1);
    await create(owner, ["zebra"]);
    expect(await outcomeOf(byClicks())).toBe("invalid_request");
    expect((await readAll(owner, { sort: "links" })).length).toBe(10_001);
    const search = { sort: "name", limit: 10, search: "zebra", after: null } as const;
    const first = await postgres.tags.list(owner, search);
    expect([first.rows.length, first.next === null]).toEqual([0, false]);
    expect((await readAll(owner, search)).map(({ name }) => name)).toEqual(["zebra"]);
  });

  test("has no clicks of the tags whose links are too many, but of all others", async () => {
    const owner = await newOwner();
    const { id } = await create(owner, ["few", "many"]);
    await setClicks(id, 7);
    // As if it had so many: the count is what decides.
    await postgres.sql`update tags set links = 100000 where account_id = ${owner.accountId} and name = 'many'`;
    const clicks = async () => (await readAll(owner)).map((tag) => [tag.name, tag.clicks]);
    expect(await clicks()).toEqual([
      ["few", 7],
      ["many", null],
    ]);
    const sorted = { sort: "clicks", limit: 1, search: "", after: null } as const;
    expect(await outcomeOf(postgres.tags.list(owner, sorted))).toBe("invalid_request");
    await postgres.sql`update tags set links = 99999 where account_id = ${owner.accountId} and name = 'many'`;
    expect(await clicks()).toEqual([
      ["few", 7],
      ["many", 7],
    ]);
  });
});

describe("changes", () => {
  test("rename and merge tags on the owner's links, whose versions change", async () => {
    const owner = await newOwner();
    const stranger = await newOwner();
    const first = await create(owner, ["z", "old", "b", "older"]);
    const second = await create(owner, ["new", "old"]);
    const third = await create(owner, ["other"]);
    const foreign = await create(stranger, ["old"]);
    expect(await postgres.tags.merge(owner, ["old", "older", "new"], "new")).toEqual({
      changed: 2,
      done: true,
    });
    expect(await tagsOf(owner, first)).toEqual(["z", "new", "b"]);
    expect(await tagsOf(owner, second)).toEqual(["new"]);
    expect(await tagsOf(owner, third)).toEqual(["other"]);
    expect((await postgres.links.get(owner, first.id)).version).toBeGreaterThan(first.version);
    expect((await postgres.links.get(owner, third.id)).version).toBe(third.version);
    expect(await tagsOf(stranger, foreign)).toEqual(["old"]);
  });

  test("remove a tag, and leave the others in their order", async () => {
    const owner = await newOwner();
    const links = [await create(owner, ["a", "gone", "b"]), await create(owner, ["gone"])];
    const elsewhere = await create({ ...owner, mode: "test" }, ["gone"]);
    expect(await postgres.tags.remove(owner, "gone")).toEqual({ changed: 2, done: true });
    expect(await Promise.all(links.map((link) => tagsOf(owner, link)))).toEqual([["a", "b"], []]);
    expect(await tagsOf({ ...owner, mode: "test" }, elsewhere)).toEqual(["gone"]);
    expect(await outcomeOf(postgres.tags.remove(owner, "gone"))).toBe("not_found");
  });

  test("give a tag a colour that follows it, unless the tag it becomes one with has its own", async () => {
    const owner = await newOwner();
    await create(owner, ["a", "b", "c"]);
    expect(await postgres.tags.change(owner, "a", { color: "red" })).toEqual({
      name: "a",
      color: "red",
      links: 1,
      clicks: 0,
      changed: 0,
      done: true,
    });
    expect(await postgres.tags.change(owner, "a", { name: "d" })).toMatchObject({ color: "red" });
    expect(await outcomeOf(postgres.tags.change(owner, "d", { name: "b" }))).toBe("tag_taken");
    expect(await countsOf(owner)).toEqual(["b", "c", "d"].map((name) => [name, 1]));
    await postgres.tags.change(owner, "b", { color: "blue" });
    const merged = { name: "b", merge: true };
    expect(await postgres.tags.change(owner, "d", merged)).toMatchObject({
      color: "blue",
      changed: 1,
    });
    expect(await postgres.tags.merge(owner, ["b"], "c")).toEqual({ changed: 1, done: true });
    expect(await postgres.tags.change(owner, "c", {})).toMatchObject({ color: "blue" });
    const both = await postgres.tags.change(owner, "c", { name: "e", color: null });
    expect(both).toMatchObject({ name: "e", color: null, changed: 1 });
    expect(await outcomeOf(postgres.tags.change(owner, "c", {}))).toBe("not_found");
    expect(await outcomeOf(postgres.tags.change(owner, "c", { name: "f" }))).toBe("not_found");
    expect(await outcomeOf(postgres.tags.change(owner, "\u0000", { color: "red" }))).toBe(
      "not_found",
    );
  });

  test("by renames to one name at once let one of them win", async () => {
    const owner = await newOwner();
    const names = ["a", "b", "d", "e", "f", "g", "h", "i"];
    for (const name of names) await create(owner, [name]);
    const outcomes = await Promise.all(
      names.map((name) => outcomeOf(postgres.tags.change(owner, name, { name: "c" }))),
    );
    expect(outcomes.filter((outcome) => outcome === "done").length).toBe(1);
    expect(new Set(outcomes)).toEqual(new Set(["tag_taken", "done"]));
  });

  longTest("of more than 10,000 links take several requests", async () => {
    const owner = { ...(await newOwner()), plan: "enterprise" };
    await insertLinks(owner, 10_001, () => postgres.sql`array['many']`);
    const first = await postgres.tags.change(owner, "many", { name: "more", color: "pink" });
    expect(first).toMatchObject({ name: "more", color: "pink", changed: 10_000, done: false });
    const again = postgres.tags.change(owner, "many", { name: "more" });
    expect(await outcomeOf(again)).toBe("tag_taken");
    const second = await postgres.tags.change(owner, "many", { name: "more", merge: true });
    expect(second).toMatchObject({ color: "pink", links: 10_001, changed: 1, done: true });
    const [last] = await postgres.sql<{ id: Uuid }[]>`
      select id from links where account_id = ${owner.accountId} limit 1`;
    if (last === undefined) throw new Error("There is no link.");
    await postgres.links.update(owner, last.id, { tags: [] }, anyVersion);
    // A request that changes as many links as it may, and all.
    expect(await postgres.tags.remove(owner, "more")).toEqual({ changed: 10_000, done: true });
    expect(await countsOf(owner)).toEqual([]);
  });
});

/**
 * Inserts links by SQL, which is faster than by requests; `tagsOfLink` is an expression of a link's
 * number.
 */
async function insertLinks(
  { accountId, mode }: AccountScope,
  count: number,
  tagsOfLink: (i: Fragment) => Fragment,
): Promise<void> {
  await postgres.sql`
    with inserted as (
      insert into links (id, account_id, mode, alias, original_url, target_url, tags, version, created_at, updated_at)
      select gen_random_uuid(), ${accountId}, ${mode}, 'x' || md5(${accountId} || i::text), ${url}, ${url},
             ${tagsOfLink(postgres.sql`i`)}, nextval('link_version'), now(), now()
        from generate_series(1, ${count}::integer) i
      returning id
    )
    insert into link_counters (link_id, account_id, mode)
    select id, ${accountId}, ${mode} from inserted`;
}

test("an account that has added up the clicks of as many links as it may waits, and others do not", async () => {
  const { tags } = postgres;
  const list = (of: typeof owner, sort: "name" | "clicks") =>
    tags.list(of, { sort, limit: 9, search: "", after: null });
  const [owner, other] = [await newOwner(), await newOwner()];
  for (let i = 0; i < 2; i++) await create(owner, ["a"]);
  await create(other, ["a"]);
  for (const sort of ["name", "clicks"] as const)
    expect((await list(owner, sort)).rows).toMatchObject([{ name: "a", links: 2 }]);
  useUp(owner, "listed_links");
  for (const refused of [
    list(owner, "name"),
    list(owner, "clicks"),
    tags.change(owner, "a", { color: "red" }),
  ])
    expect(await outcomeOf(refused)).toBe("rate_limited");
  // A tag can be renamed, which has a budget of its own.
  expect(await tags.change(owner, "a", { name: "b" })).toMatchObject({ name: "b", links: 2 });
  expect((await list(other, "clicks")).rows).toMatchObject([{ name: "a", links: 1 }]);
});
