/**
 * Goal: a list by cursor has every link that matches exactly once, whatever happens to the others
 * meanwhile.
 */
import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import { newUuid, type Uuid } from "../../../shared/ids.ts";
import { useUp } from "../../../test/harness/budgets.ts";
import { forFile } from "../../../test/harness/for-file.ts";
import { anyVersion, startPostgres } from "../../../test/harness/postgres.ts";
import { casesOf } from "../../../test/harness/property-runs.ts";
import { ApiError } from "../../http/errors.ts";
import type { ListPosition, ListRequest } from "../../http/pagination.ts";
import type { Writer } from "../../http/principal.ts";
import { budgets } from "../../limits/budgets.ts";
import type { LinkRow, ListLinksQuery } from "../model.ts";
import { toFilter } from "./filter.ts";
import { findLinks } from "./list-links.ts";

const postgres = await forFile(startPostgres());

const MANY_LINKS = 11_000;

const ORDERS = [
  { sort: "created_at", order: "desc" },
  { sort: "created_at", order: "asc" },
  { sort: "clicks", order: "desc" },
  { sort: "clicks", order: "asc" },
  { sort: "last_click_at", order: "desc" },
  { sort: "last_click_at", order: "asc" },
] as const;

/**
 * Inserts links created in the same few milliseconds, with few different numbers of clicks and
 * times of the last one, so that there are ties; some were never clicked.
 */
async function insertLinks({ accountId, mode }: Writer, count: number): Promise<void> {
  await postgres.sql`
    with inserted as (
      insert into links (id, account_id, mode, alias, original_url, target_url, title, tags, expires_at, version,
                         created_at, updated_at)
      select gen_random_uuid(), ${accountId}, ${mode}, 'x' || md5(${accountId} || i::text), url, url,
             case when i % 97 = 0 then 'qz' else 'other' end,
             case when i % 3 = 0 then array['third', 'all'] else array['all'] end,
             case when i % 5 = 0 then now() - interval '1 hour' end, nextval('link_version'),
             '2026-01-01'::timestamptz + make_interval(secs => (i % 50) / 1000.0), now()
        from generate_series(1, ${count}::integer) i, lateral (select 'https://example.com/' || i as url) url
      returning id
    )
    insert into link_counters (link_id, account_id, mode, clicks, last_click_at)
    select id, ${accountId}, ${mode}, clicks,
           case when clicks = 0 then 'epoch'
                else '2026-02-01'::timestamptz + make_interval(secs => floor(random() * 50) / 1000.0) end
      from inserted, lateral (select floor(random() * 5)::bigint as clicks where id is not null) random`;
}

/** As autovacuum does in the end: without it, PostgreSQL reads far more than it needs to. */
const analyze = () => postgres.sql`analyze links, link_counters`;

/** Reads a list to its end; calls `between` before every part but the first. */
async function readAll(
  owner: Writer,
  query: ListLinksQuery,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<LinkRow[]> {
  const rows: LinkRow[] = [];
  let after: ListPosition | null = null;
  for (;;) {
    const part = await postgres.links.list(owner, query, { after, limit: query.limit });
    rows.push(...part.rows);
    if (part.next === null) return rows;
    after = part.next;
    await between();
  }
}

const idsOf = (rows: readonly { id: Uuid }[]): Uuid[] => rows.map(({ id }) => id);

let many: Promise<Writer> | undefined;
/** An account with more links than a request examines. */
const ownerOfMany = () =>
  (many ??= postgres.addWriter().then(async (owner) => {
    await insertLinks(owner, MANY_LINKS);
    await analyze();
    return owner;
  }));

/** Finds a page among those links, with other bounds. */
const findPage = async (
  query: Pick<ListLinksQuery, "sort" | "order"> & Partial<ListLinksQuery>,
  page: number,
  countedMax: number,
  examined: number,
) => {
  const owner = await ownerOfMany();
  const filter = toFilter(owner, query, {
    allowPrivate: false,
    shortUrl: new URL("https://sho.rt"),
    ownHosts: new Set(),
  });
  if (filter === undefined) throw new Error("The filter selects nothing.");
  const examinedMax = { created_at: examined, clicks: examined, last_click_at: examined };
  const bounds = { countedMax, examinedMax };
  return await findLinks(postgres.sql, filter, query, { page, limit: 100 }, bounds);
};

describe("a list by page", () => {
  test.each(ORDERS)("has an exact total up to a bound, and estimates more: %p", async (order) => {
    const query = { ...order, search: "example.com" };
    const exact = await findPage(query, 1, MANY_LINKS, MANY_LINKS);
    expect(exact).toMatchObject({ total: MANY_LINKS });
    expect(exact.isEstimate).toBeUndefined();
    const estimated = await findPage(query, 1, MANY_LINKS - 1, MANY_LINKS);
    expect(estimated).toMatchObject({ isEstimate: true, ids: exact.ids });
    // At least what was counted, and no more than there are.
    expect(estimated.total).toBe(MANY_LINKS);
  });

  test.each(ORDERS)(
    "of which no index knows anything examines its first links, and goes on by cursor: %p",
    async (order) => {
      const owner = await ownerOfMany();
      const query = { ...order, search: "qz", limit: 100 };
      const all = idsOf(await readAll(owner, query));
      expect(await findPage(query, 1, MANY_LINKS, MANY_LINKS)).toEqual({
        ids: all.slice(0, 100),
        total: all.length,
        read: MANY_LINKS + all.length,
        next: null,
      });
      const { ids, total, read, isEstimate, next } = await findPage(query, 1, MANY_LINKS, 5_500);
      expect([ids, isEstimate, read]).toEqual([all.slice(0, ids.length), true, 5_500]);
      // Every 97th link matches, in each half of the list about as many.
      expect(total).toBeWithin(MANY_LINKS / 97 / 2, (MANY_LINKS / 97) * 2);
      const rest: Uuid[] = [];
      for (let after = next; after !== null;) {
        const part = await postgres.links.list(owner, query, { after, limit: 100 });
        rest.push(...idsOf(part.rows));
        after = part.next;
      }
      expect([...ids, ...rest]).toEqual(all);
    },
  );

  test("of an account that has read as many links as it may has to wait, by cursor it does not", async () => {
    const { links } = postgres;
    const [owner, other] = [await postgres.addWriter(), await postgres.addWriter()];
    for (const each of [owner, other]) await insertLinks(each, 60);
    const query = { sort: "clicks", order: "desc", search: "example", limit: 1 } as const;
    const list = (of: Writer, request: ListRequest) => links.list(of, query, request);
    const spend = spyOn(budgets, "spend");
    expect(await list(owner, { page: 1, limit: 1 })).toMatchObject({ total: 60 });
    const [payer, name, read] = spend.mock.lastCall ?? [];
    spend.mockRestore();
    expect([payer?.accountId, name]).toEqual([owner.accountId, "listed_links"]);
    expect(read).toBeGreaterThanOrEqual(60);
    useUp(owner, "listed_links");
    const refused: unknown = await list(owner, { page: 1, limit: 1 }).catch((thrown) => thrown);
    expect(refused instanceof ApiError && refused.reason).toBe("rate_limited");
    expect((await list(owner, { after: null, limit: 1 })).rows).toHaveLength(1);
    expect(await list(other, { page: 1, limit: 1 })).toMatchObject({ total: 60 });
  });
});

describe("a list by cursor", () => {
  test("has the few links of a campaign at once, however many others there are", async () => {
    const owner = await postgres.addWriter();
    await insertLinks(owner, MANY_LINKS);
    const { accountId } = owner;
    const marked = await postgres.sql<{ id: Uuid }[]>`
      update links set utm_campaign = 'rare' where id in (
        select id from links where account_id = ${accountId} order by created_at, id limit 3)
      returning id`;
    await analyze();
    const campaign = { anyOf: ["rare"], noneOf: [] };
    for (const order of ORDERS) {
      const query = { ...order, utm_campaign: campaign, limit: 20 };
      const part = await postgres.links.list(owner, query, { after: null, limit: 20 });
      expect(idsOf(part.rows).toSorted()).toEqual(idsOf(marked).toSorted());
      expect(part.next).toBeNull();
    }
    const without = { sort: "created_at", order: "asc", limit: 100 } as const;
    const others = await readAll(owner, { ...without, utm_campaign: { anyOf: [""], noneOf: [] } });
    expect(others).toHaveLength(MANY_LINKS - 3);
  });

  test("neither skips nor repeats a link while others are created and deleted", async () => {
    const run = async (
      order: (typeof ORDERS)[number],
      filter: Partial<ListLinksQuery>,
      limit: number,
      changes: readonly boolean[],
    ) => {
      const owner = await postgres.addWriter();
      await insertLinks(owner, 40);
      const query = { ...order, ...filter, limit };
      const before = new Set(idsOf(await readAll(owner, { ...query, limit: 100 })));
      const left = [...changes];
      const deleted = new Set<Uuid>();
      const seen = await readAll(owner, query, async () => {
        const change = left.pop();
        if (change === undefined) return;
        if (change) {
          const body = { url: "https://example.com/new", tags: ["all", "third"] };
          await postgres.links.create(owner, newUuid(), body);
          return;
        }
        const rows = await postgres.sql<{ id: Uuid }[]>`
          select id from links where account_id = ${owner.accountId} order by random() limit 1`;
        for (const { id } of rows) {
          await postgres.links.remove(owner, id, anyVersion);
          deleted.add(id);
        }
      });
      const ids = idsOf(seen);
      expect(new Set(ids).size).toBe(ids.length);
      expect([...before].filter((id) => !deleted.has(id) && !ids.includes(id))).toEqual([]);
    };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ORDERS),
        fc.constantFrom<Partial<ListLinksQuery>[]>(
          {},
          { tag: ["third", "all"] },
          { expired: "false" },
          { search: "example" },
        ),
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.boolean(), { maxLength: 8 }),
        run,
      ),
      { numRuns: casesOf(100) },
    );
  });

  test.each(ORDERS)(
    "finds rare matches among many links, by parts that may be short, in order: %p",
    async (order) => {
      const owner = await ownerOfMany();
      // Two letters, which no index of trigrams finds.
      const rows = await readAll(owner, { ...order, search: "QZ", limit: 100 });
      const expected = await postgres.sql<{ id: Uuid }[]>`
        select id from links where account_id = ${owner.accountId} and title = 'qz'`;
      expect(idsOf(rows).toSorted()).toEqual(idsOf(expected).toSorted());
      const keys = rows.map((row) => Number(row[order.sort] ?? 0));
      const sorted = keys.toSorted((a, b) => (order.order === "asc" ? a - b : b - a));
      expect(keys).toEqual(sorted);
    },
  );
});

test("every filter selects as it says, by page and by cursor", async () => {
  const owner = await postgres.addWriter();
  const create = (body: Partial<Parameters<typeof postgres.links.create>[2]> & { url: string }) =>
    postgres.links.create(owner, newUuid(), body);
  const { link: first } = await create({
    url: "https://Example.com",
    alias: "filter-1",
    external_id: "crm-1",
    tags: ["a", "b"],
  });
  const { link: second } = await create({ url: "https://example.com/2", tags: ["a"] });
  const { link: third } = await create({ url: "https://example.com/3", archived: true });
  await postgres.sql`update links set created_at = '2026-05-05', expires_at = '2026-06-01' where id = ${second.id}`;
  const cases: [Partial<ListLinksQuery>, Uuid[]][] = [
    [{}, [first.id, second.id]],
    [{ archived: "true" }, [third.id]],
    [{ archived: "any" }, [third.id, first.id, second.id]],
    [{ alias: "filter-1" }, [first.id]],
    [{ alias: "FILTER-1" }, []],
    [{ domain: "sho.rt", alias: "filter-1" }, [first.id]],
    [{ domain: "go.example.com" }, []],
    [{ url: "https://example.com/" }, [first.id]],
    [{ tag: "a" }, [first.id, second.id]],
    [{ tag: ["a", "b"] }, [first.id]],
    [{ external_id: "crm-1" }, [first.id]],
    [{ external_id: "\u0000" }, []],
    [{ created_before: "2026-05-05T00:00:00Z" }, []],
    [
      { created_after: "2026-05-05T00:00:00Z", created_before: "2026-05-06T00:00:00Z" },
      [second.id],
    ],
    [{ expired: "true" }, [second.id]],
    [{ expired: "false" }, [first.id]],
  ];
  for (const [filter, expected] of cases) {
    const query = { sort: "created_at", order: "desc", limit: 10, ...filter } as const;
    const page = await postgres.links.list(owner, query, { page: 1, limit: 10 });
    expect([filter, idsOf(page.rows), page.total]).toEqual([filter, expected, expected.length]);
    expect([filter, idsOf(await readAll(owner, query))]).toEqual([filter, expected]);
  }
  for (const { id, alias } of [first, third])
    expect((await postgres.links.lookUp(owner, { aliases: [alias] })).id).toBe(id);
  const stranger = await postgres.addWriter();
  for (const [filter] of cases) {
    const query = { sort: "created_at", order: "desc", limit: 10, ...filter } as const;
    expect(await readAll(stranger, query)).toEqual([]);
  }
});

test("the service's own domain selects no link of a custom one", async () => {
  const owner = await postgres.addWriter();
  const url = "https://example.com/";
  const { link: own } = await postgres.links.create(owner, newUuid(), { url });
  const { link: custom } = await postgres.links.create(owner, newUuid(), { url });
  const { id } = await postgres.addDomain(owner.accountId, "own.example.com");
  await postgres.sql`update links set domain_id = ${id} where id = ${custom.id}`;
  for (const archived of ["any", "false"] as const) {
    for (const [domain, link] of [
      ["sho.rt", own],
      ["own.example.com", custom],
    ] as const) {
      const query = { sort: "created_at", order: "desc", limit: 10, archived, domain } as const;
      const page = await postgres.links.list(owner, query, { page: 1, limit: 10 });
      expect([domain, idsOf(page.rows), page.total]).toEqual([domain, [link.id], 1]);
      expect([domain, idsOf(await readAll(owner, query))]).toEqual([domain, [link.id]]);
    }
  }
});

test("a search finds exactly the links that contain it, whichever of its words are rare", async () => {
  const owner = await postgres.addWriter();
  // Old ones with words of their own, and a word that only old ones have in large numbers.
  const special = [
    { url: "https://shop-77.example.com/a_b?ref=4242", title: "Summer sale 50% off" },
    { url: "https://shop-78.example.com/a-b?ref=4243", title: "Sale of the summer, C:\\dir" },
    { url: "https://example.org/Other", title: "other_other" },
  ];
  for (const body of special) await postgres.links.create(owner, newUuid(), body);
  await postgres.sql`update links set created_at = '2025-01-01' where account_id = ${owner.accountId}`;
  await insertLinks(owner, 700);
  await analyze();
  const all = await postgres.sql<{ id: Uuid; text: string }[]>`
    select id, lower(coalesce(title, '') || E'\\n' || alias || E'\\n' || original_url) as text
      from links where account_id = ${owner.accountId}`;
  const texts = [...special.flatMap(({ url, title }) => [url, title]), "https://example.com/697"];
  const search = fc
    .tuple(fc.constantFrom(...texts), fc.nat({ max: 40 }), fc.integer({ min: 1, max: 24 }))
    .map(([text, start, length]) => text.slice(start % text.length).slice(0, length))
    .filter((text) => text.trim() === text);
  await fc.assert(
    fc.asyncProperty(
      search,
      fc.boolean(),
      fc.constantFrom(...ORDERS),
      async (part, isUpper, order) => {
        const query = { ...order, search: isUpper ? part.toUpperCase() : part, limit: 100 };
        const expected = all
          .filter(({ text }) => text.includes(part.toLowerCase()))
          .map(({ id }) => id);
        expect(idsOf(await readAll(owner, query)).toSorted()).toEqual(expected.toSorted());
        const page = await postgres.links.list(owner, query, { page: 1, limit: 100 });
        expect([page.rows.length, page.total]).toEqual([
          Math.min(100, expected.length),
          expected.length,
        ]);
      },
    ),
    { numRuns: casesOf(200) },
  );
});
