/**
 * Goal: links that an account creates at the same time are written together, and what becomes of
 * each is as if it came alone.
 */
import { expect, test } from "bun:test";

import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { encodeId, newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { createLinksOn, startPostgres } from "../../test/harness/postgres.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import type { CreateLinkBody } from "./model.ts";
import { lockAliases } from "./sql.ts";

const postgres = await forFile(startPostgres());

const COUNT = 24;

const url = "https://example.com/";

/** Creates links at the same time; returns the alias of each, or the code of its error. */
const createAtOnce = (
  owner: Writer,
  bodies: readonly Omit<CreateLinkBody, "url">[],
  links = postgres.links,
): Promise<string[]> =>
  Promise.all(
    bodies.map((body, i) =>
      links.create({ ...owner, actor: actorOf(owner, i) }, newUuid(), { url, ...body }).then(
        ({ link }) => link.alias,
        (error: unknown) => (error instanceof ApiError ? error.reason : String(error)),
      ),
    ),
  );

/** Each creation has a request of its own. */
const actorOf = ({ actor }: Writer, i: number): Writer["actor"] => ({
  ...actor,
  origin: { network: "192.0.2.0/24", request_id: `request-${i}` },
});

const aliases = (name: string, count = COUNT) =>
  Array.from({ length: count }, (_, i) => ({ alias: `${name}-${i}` }));

const namesOf = (bodies: readonly { alias: string }[]) => bodies.map(({ alias }) => alias);

/** The number of links and of the transactions that have written them. */
async function countOf({ accountId }: AccountScope) {
  const [row] = await postgres.sql<[{ links: number; transactions: number }]>`
    select count(*)::integer as links, count(distinct xmin::text)::integer as transactions
      from links where account_id = ${accountId}`;
  return row;
}

const usedOf = async ({ accountId }: AccountScope): Promise<number> => {
  const [row] = await postgres.sql<{ used: number }[]>`
    select used from quota_windows where account_id = ${accountId} and quota = 'links_per_day'`;
  return row?.used ?? 0;
};

test("links of one account have few transactions, and each has the event of its own request", async () => {
  const key = newUuid();
  const owner: Writer = { ...(await postgres.addWriter()), actor: { type: "api_key", id: key } };
  const bodies = aliases("together");
  expect(await createAtOnce(owner, bodies)).toEqual(namesOf(bodies));
  const { links, transactions } = await countOf(owner);
  expect(links).toBe(COUNT);
  expect(transactions).toBeLessThan(COUNT / 2);
  expect(await usedOf(owner)).toBe(COUNT);
  const events = await postgres.sql<{ alias: string; actor: unknown; origin: unknown }[]>`
    select data -> 'link' ->> 'alias' as alias, actor, origin from events
     where account_id = ${owner.accountId}`;
  expect(new Map(events.map(({ alias, origin }) => [alias, origin]))).toEqual(
    new Map(namesOf(bodies).map((alias, i) => [alias, actorOf(owner, i).origin])),
  );
  for (const { actor } of events)
    expect(actor).toEqual({ type: "api_key", id: encodeId("key", key) });
});

test("links that have taken names fail alone, and the first of equal ones wins", async () => {
  const [owner, stranger] = [await postgres.addWriter(), await postgres.addWriter()];
  await postgres.links.create(stranger, newUuid(), { url, alias: "alone-3" });
  const bodies = aliases("alone").map(({ alias }, i) =>
    i === 20
      ? { alias: "alone-9" }
      : i === 11 || i === 12
        ? { alias, external_id: "same" }
        : { alias },
  );
  const outcomes = await createAtOnce(owner, bodies);
  const failed = outcomes.flatMap((outcome, i) =>
    outcome === bodies[i]?.alias ? [] : [`${i} ${outcome}`],
  );
  expect(failed).toEqual(["3 alias_taken", "12 external_id_taken", "20 alias_taken"]);
  expect(await usedOf(owner)).toBe(COUNT - failed.length);
});

test("as many links are created as the quota has left", async () => {
  const owner = await postgres.addWriter();
  await postgres.sql`
    update accounts set limits = '{"quotas": {"links_per_day": 10}}' where id = ${owner.accountId}`;
  const outcomes = await createAtOnce(owner, aliases("quota"));
  expect(outcomes.filter((outcome) => outcome === "rate_limited")).toHaveLength(COUNT - 10);
  expect(await countOf(owner)).toMatchObject({ links: 10 });
  expect(await usedOf(owner)).toBe(10);
});

/** Locks an alias until the returned function is called. */
async function lockAlias(alias: string): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = postgres.sql.begin(async (transaction) => {
    await lockAliases(transaction, [{ domain: DEFAULT_DOMAIN, alias }]);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  return async () => {
    release.resolve();
    await holding;
  };
}

test("links of one account do not wait for those of another, whose alias is locked", async () => {
  const [waiting, owner] = [await postgres.addWriter(), await postgres.addWriter()];
  const release = await lockAlias("held-0");
  const held = createAtOnce(waiting, aliases("held", 4));
  expect(await createAtOnce(owner, aliases("free", 4))).toEqual(namesOf(aliases("free", 4)));
  await release();
  expect(await held).toEqual(namesOf(aliases("held", 4)));
});

test("links do not wait for those of the same account whose alias, or its first segment, is locked", async () => {
  const owner = await postgres.addWriter();
  const release = await lockAlias("behind-1");
  const bodies = [...aliases("behind", 6), { alias: "behind-1/below" }];
  const created: string[] = [];
  const all = Promise.all(
    bodies.map(async (body) => created.push(...(await createAtOnce(owner, [body])))),
  );
  const free = namesOf(bodies).filter((name) => !name.startsWith("behind-1"));
  while (created.length < free.length) await Bun.sleep(5);
  const others = aliases("meanwhile", 3);
  expect(await createAtOnce(owner, others)).toEqual(namesOf(others));
  expect(created.toSorted()).toEqual(free);
  await release();
  await all;
  expect(created.toSorted()).toEqual(namesOf(bodies).toSorted());
  expect(await usedOf(owner)).toBe(bodies.length + others.length);
});

test("links whose commit is not heard of are found, each by its request", async () => {
  const owner = await postgres.addWriter();
  const cutting: Sql = new Proxy(postgres.sql, {
    apply(target, _, args: Parameters<Sql>) {
      const query = target(...args);
      if (!String(args[0]).includes("insert into links")) return query;
      return query.then(() => Promise.reject(Object.assign(new Error(), { code: "ECONNRESET" })));
    },
  });
  const bodies = aliases("unheard");
  expect(await createAtOnce(owner, bodies, createLinksOn(cutting))).toEqual(namesOf(bodies));
  expect(await usedOf(owner)).toBe(COUNT);
});
