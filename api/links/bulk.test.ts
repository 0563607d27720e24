/**
 * Goal: requests for many links judge each row alone, and do with a few statements what single
 * requests do.
 */
import { describe, expect, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import {
  anyVersion,
  createLinksOn,
  startPostgres,
  upsertLink,
} from "../../test/harness/postgres.ts";
import type { DomainService } from "../domains/service.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { toEntries } from "./bulk.ts";
import type { LinkRow } from "./model.ts";
import type { LinkResults } from "./results.ts";

const postgres = await forFile(startPostgres());

/** The code of a failed row, or the alias of its link. */
const outcomesOf = ({ results }: LinkResults) =>
  results.map((result) => ("link" in result ? result.link.alias : result.error.reason));

const linkOf = ({ results }: LinkResults, index = 0): LinkRow => {
  const result = results[index];
  if (result === undefined || !("link" in result)) throw new Error(`Row ${index} failed.`);
  return result.link;
};

const create = (owner: Writer, rows: readonly unknown[], firstId = newUuid()) =>
  postgres.links.createMany(owner, firstId, rows);

const url = "https://example.com/";

const paramOf = (error: unknown) =>
  error instanceof ApiError ? [error.reason, error.param] : error;

/** A service whose links are published at once. */
const createService = (sql: Sql, domains: Partial<DomainService> = {}) =>
  createLinksOn(sql, { publisher: { publish: () => Promise.resolve(true) }, domains });

const usedOf = async ({ accountId }: AccountScope): Promise<number> => {
  const [row] = await postgres.sql<{ used: number }[]>`
    select used from quota_windows where account_id = ${accountId} and quota = 'links_per_day'`;
  return row?.used ?? 0;
};

describe("creating many links", () => {
  test("judges each row alone, names the field, and lets the first of equal aliases win", async () => {
    const owner = await postgres.addWriter();
    await create(owner, [{ url, alias: "there", external_id: "known" }]);
    const result = await create(owner, [
      { url, alias: "one", titel: "x" },
      { url, alias: "one", title: "Second", tags: ["a", "a"] },
      { url, alias: "one", title: "Third" },
      { url, alias: "there" },
      { url, external_id: "known" },
      { url, external_id: "new" },
      { url: "nonsense" },
      { url, alias: "v1" },
      "text",
      { url, expires_at: "2001-01-01T00:00:00Z" },
    ]);
    expect(outcomesOf(result)).toEqual([
      "invalid_request",
      "one",
      "alias_taken",
      "alias_taken",
      "external_id_taken",
      expect.stringMatching(/^\w{7}$/),
      "invalid_url",
      "invalid_alias",
      "invalid_request",
      "invalid_request",
    ]);
    const params = result.results.map((row) => ("error" in row ? row.error.param : null));
    expect(params).toEqual([
      "titel",
      null,
      "alias",
      "alias",
      "external_id",
      null,
      "url",
      "alias",
      undefined,
      "expires_at",
    ]);
    const link = linkOf(result, 1);
    expect(await postgres.links.get(owner, link.id)).toEqual(link);
    expect(link).toMatchObject({ title: "Second", tags: ["a"], clicks: 0 });
    expect(await postgres.outboxOf("one")).toMatchObject([
      { state: "active", link_id: link.id, version: link.version, destination: url },
    ]);
    // Only created links consume the quota.
    expect(await usedOf(owner)).toBe(3);
  });

  test("names all faults of a row", async () => {
    const owner = await postgres.addWriter();
    const { results } = await create(owner, [
      { titel: "x", title: 1, tags: "a" },
      {
        url: "nonsense",
        alias: "v1",
        expired_url: "ftp://example.com/",
        split: {
          arms: [
            { url: "nonsense", weight: 1 },
            { url, weight: 1 },
          ],
        },
        expires_at: "2001-01-01T00:00:00Z",
      },
    ]);
    const { data } = toEntries(results, () => ({}));
    const errors = data.map((entry) => ("error" in entry ? entry.error : undefined));
    expect(errors.map((error) => [error?.code, error?.param])).toEqual([
      ["invalid_request", "url"],
      ["invalid_alias", "alias"],
    ]);
    expect(errors.map((error) => error?.details?.map(({ param }) => param))).toEqual([
      ["url", "title", "tags", "titel"],
      ["alias", "url", "expired_url", "split.arms.0.url", "expires_at"],
    ]);
  });

  test("is told by a check of the same rows, which creates none", async () => {
    const owner = await postgres.addWriter();
    await create(owner, [{ url, alias: "held", external_id: "held-id" }]);
    const used = await usedOf(owner);
    const rows = [
      { url, alias: "free" },
      { url, alias: "free" },
      { url, alias: "held" },
      { url, external_id: "held-id" },
      { url, password: "secret" },
      { url: "nonsense" },
      { url, alias: "v1" },
      { url, expires_at: "2001-01-01T00:00:00Z" },
      { url, titel: "x" },
    ];
    const errors = await postgres.links.checkMany(owner, rows);
    expect(errors.map((error) => error?.reason)).toEqual([
      undefined,
      "alias_taken",
      "alias_taken",
      "external_id_taken",
      undefined,
      "invalid_url",
      "invalid_alias",
      "invalid_request",
      "invalid_request",
    ]);
    expect(await usedOf(owner)).toBe(used);
    expect(await postgres.outboxOf("free")).toEqual([]);
    const { results } = await create(owner, rows);
    expect(errors.map((error) => error?.envelope)).toEqual(
      results.map((result) => ("error" in result ? result.error.envelope : undefined)),
    );
  });

  test("concurrently under the same aliases creates each once, in whatever order they are sent", async () => {
    const owners = await Promise.all(Array.from({ length: 6 }, () => postgres.addWriter()));
    const aliases = Array.from({ length: 20 }, (_, i) => `race-${i}`);
    const results = await Promise.all(
      owners.map((owner, i) => {
        const order = i % 2 === 0 ? aliases : aliases.toReversed();
        return create(
          owner,
          order.map((alias) => ({ url, alias })),
        );
      }),
    );
    const created = results.flatMap(outcomesOf).filter((outcome) => outcome.startsWith("race-"));
    expect(created.toSorted()).toEqual(aliases.toSorted());
  });
});

test("a link that would expire before it starts is refused, however it comes to that", async () => {
  const [early, late] = ["2090-01-01T00:00:00.000Z", "2090-01-02T00:00:00.000Z"];
  const owner = await postgres.addWriter();
  const { links } = postgres;
  const faulty = { url, starts_at: late, expires_at: early };
  const window = { type: "time", from: late, until: early };
  const made = await create(owner, [
    { url, external_id: "starting", starts_at: late },
    { url, expires_at: early },
    faulty,
    { ...faulty, starts_at: early },
    { url, rules: [{ url, conditions: [window] }] },
  ]);
  const problemsOf = ({ results }: LinkResults) =>
    results.map((row) => ("error" in row ? paramOf(row.error) : "done"));
  const fault = ["invalid_request", "expires_at"];
  const ofWindow = ["invalid_request", "rules.0.conditions.0.until"];
  expect(problemsOf(made)).toEqual(["done", "done", fault, fault, ofWindow]);
  expect((await links.checkMany(owner, [faulty])).map(paramOf)).toEqual([fault]);
  const [starting, ending] = [0, 1].map((i) => encodeId("link", linkOf(made, i).id));
  const changed = await links.updateMany(owner, [
    { id: starting, expires_at: early },
    { id: ending, starts_at: late },
  ]);
  expect(problemsOf(changed)).toEqual([fault, fault]);
  const replaced = upsertLink(links, owner, "starting", faulty);
  expect(await replaced.then(() => "done", paramOf)).toEqual(fault);
  const both = await links.updateMany(owner, [{ id: ending, starts_at: early, expires_at: late }]);
  expect(linkOf(both).extras).toEqual({ starts_at: early });
});

describe("updating many links", () => {
  test("names all faults of a row", async () => {
    const owner = await postgres.addWriter();
    const { id } = linkOf(await create(owner, [{ url }]));
    const { results } = await postgres.links.updateMany(owner, [
      { id: encodeId("link", id), url: "nonsense", alias: "-", expires_at: "2001-01-01T00:00:00Z" },
    ]);
    const [result] = results;
    expect(result !== undefined && "error" in result && result.error.details).toMatchObject([
      { param: "url" },
      { param: "alias" },
      { param: "expires_at" },
    ]);
  });

  test("judges each row alone, and publishes the new names and the freed ones", async () => {
    const owner = await postgres.addWriter();
    const stranger = await postgres.addWriter();
    const made = await create(
      owner,
      ["u1", "u2", "u3", "u4"].map((alias) => ({ url, alias })),
    );
    const foreign = linkOf(await create(stranger, [{ url, alias: "foreign" }]));
    const id = (index: number) => encodeId("link", linkOf(made, index).id);
    const result = await postgres.links.updateMany(owner, [
      { id: id(0), alias: "u1-new", title: "One" },
      { id: id(0), title: "Twice" },
      { id: id(1), alias: "u1-new" },
      { id: id(2), alias: "foreign" },
      { id: id(3), title: 7 },
      { id: encodeId("link", foreign.id), title: "Mine" },
      { id: "nonsense" },
    ]);
    expect(outcomesOf(result)).toEqual([
      "u1-new",
      "invalid_request",
      "alias_taken",
      "alias_taken",
      "invalid_request",
      "not_found",
      "not_found",
    ]);
    const link = linkOf(result);
    expect(await postgres.links.get(owner, link.id)).toEqual(link);
    const [, freed] = await postgres.outboxOf("u1");
    const [renamed] = await postgres.outboxOf("u1-new");
    expect([freed?.state, renamed?.state]).toEqual(["deleted", "active"]);
    expect([freed?.version, renamed?.version]).toEqual([link.version, link.version]);
    expect((await postgres.links.get(stranger, foreign.id)).title).toBeNull();
  });

  test("of one external id in two rows or links, one keeps it", async () => {
    const owner = await postgres.addWriter();
    const made = await create(owner, [{ url, external_id: "x" }, { url }, { url }]);
    const rows = [1, 2].flatMap((index) => ({
      id: encodeId("link", linkOf(made, index).id),
      external_id: index === 1 ? "x" : "y",
    }));
    const [first, second] = outcomesOf(await postgres.links.updateMany(owner, rows));
    expect([first, second]).toEqual(["external_id_taken", linkOf(made, 2).alias]);
  });
});

describe("many links with settings", () => {
  const rules = [{ url: "https://example.com/ios", conditions: [{ type: "os", in: ["iOS"] }] }];

  test("are changed as one by one: each replaces its setting, and keeps the others", async () => {
    const owner = await postgres.addWriter();
    const arms = [{ label: "New page", url: "https://example.com/b", weight: 30 }];
    const made = await create(owner, [
      { url, alias: "t1", rules, split: { arms } },
      { url, alias: "t2" },
      { url, alias: "t3", disabled: true },
    ]);
    const id = (index: number) => encodeId("link", linkOf(made, index).id);
    const long = { ...rules[0], url: `https://example.com/${"a".repeat(8_000)}` };
    const changed = await postgres.links.updateMany(owner, [
      { id: id(0), rules: null, split: { arms: [{ ...arms[0], weight: 40 }] } },
      { id: id(1), rules: Array.from({ length: 9 }, () => long) },
      { id: id(2), disabled: false },
    ]);
    expect(outcomesOf(changed)).toEqual(["t1", "invalid_request", "t3"]);
    expect(linkOf(changed).extras).toEqual({
      split: expect.objectContaining({
        key: linkOf(made).extras?.split?.key,
        arms: [expect.objectContaining({ label: "New page", weight: 40 })],
      }),
    });
    expect(await postgres.links.get(owner, linkOf(made).id)).toEqual(linkOf(changed));
    expect((await postgres.links.get(owner, linkOf(made, 2).id)).extras).toBeNull();
    expect(await postgres.outboxOf("t1")).toMatchObject([
      { extras: { rules: {} } },
      { extras: { split: {} } },
    ]);
    expect(await postgres.outboxOf("t3")).toMatchObject([
      { extras: { disabled: true } },
      { state: "active" },
    ]);
    expect((await postgres.outboxOf("t3")).at(-1)).not.toHaveProperty("extras");
    expect(await postgres.outboxOf("t2")).toHaveLength(1);
  });
});

/** An owner with the domains `plain` and `folded`, which ignores case. */
async function newMover() {
  const owner = await postgres.addWriter();
  const { host: plain } = await postgres.addDomain(owner.accountId);
  const { host: folded } = await postgres.addDomain(owner.accountId, undefined, false);
  const make = async (rows: readonly object[]): Promise<string[]> => {
    const { results } = await create(
      owner,
      rows.map((row) => ({ url, ...row })),
    );
    return results.map((result) => ("link" in result ? encodeId("link", result.link.id) : ""));
  };
  const move = (made: readonly string[], domain: string | null, links = postgres.links) =>
    links.updateMany(
      owner,
      made.map((id) => ({ id, domain })),
    );
  return { owner, make, move, plain, folded };
}

describe("moving many links to another domain", () => {
  test("keeps their aliases, ends their old short URLs, and publishes both at one version", async () => {
    const { owner, make, move, plain } = await newMover();
    const ids = await make([{ alias: "mover-1" }, { alias: "mover-2" }]);
    const result = await move(ids, plain);
    expect(outcomesOf(result)).toEqual(["mover-1", "mover-2"]);
    expect(linkOf(result)).toMatchObject({ domain_host: plain, served: true });
    expect(await postgres.links.get(owner, linkOf(result).id)).toEqual(linkOf(result));
    const [, active, ended] = await postgres.outboxOf("mover-1");
    expect([active, ended]).toMatchObject([
      { state: "active", domain: plain },
      { state: "deleted", domain: "" },
    ]);
    expect(active?.version).toBe(ended?.version);
    expect(linkOf(await move(ids, plain)).version).toBe(linkOf(result).version);
    expect(linkOf(await move(ids, null)).domain_host).toBeNull();
    expect(
      outcomesOf(await create(await postgres.addWriter(), [{ url, alias: "mover-1" }])),
    ).toEqual(["alias_taken"]);
  });

  test("leaves each link as it was whose alias is taken there, also by another row", async () => {
    const { owner, make, move, folded } = await newMover();
    await make([{ alias: "Taken", domain: folded }]);
    const ids = await make([{ alias: "TAKEN" }, { alias: "twin" }, { alias: "Twin" }]);
    expect(outcomesOf(await move(ids, folded))).toEqual(["alias_taken", "twin", "alias_taken"]);
    const { rows } = await postgres.links.list(
      owner,
      { limit: 10, sort: "created_at", order: "desc" },
      { page: 1, limit: 10 },
    );
    const places = rows.map(({ alias, domain_host: host }) => `${host ?? "own"}/${alias}`);
    expect(places.toSorted()).toEqual(
      [`${folded}/Taken`, `${folded}/twin`, "own/TAKEN", "own/Twin"].toSorted(),
    );
    expect(await postgres.outboxOf("TAKEN")).toHaveLength(1);
  });

  test("refuses domains of others, reserved words there, and links that are taken down", async () => {
    const { owner, make, move, plain } = await newMover();
    const [own, reserved = ""] = await make([{ alias: "guest" }, { alias: "v1", domain: plain }]);
    expect(outcomesOf(await move([own ?? ""], "foreign.example.com"))).toEqual(["invalid_request"]);
    expect(outcomesOf(await move([reserved], null))).toEqual(["invalid_alias"]);
    await postgres.sql`update links set taken_down = true where alias = 'guest'`;
    expect(outcomesOf(await move([own ?? ""], plain))).toEqual(["link_taken_down"]);
    const evading = postgres.sql`
      update links set domain_id = (select id from domains where host = ${plain})
       where account_id = ${owner.accountId} and alias = 'guest'`;
    expect(await evading.catch(({ code }) => code)).toBe("57P03");
  });

  test("publishes links again whose domain has lost its proof, and says nothing of their old short URLs", async () => {
    const { make, move, plain } = await newMover();
    const ids = await make([{ alias: "stranded", domain: plain }]);
    await postgres.sql`update domains set verified_at = null where host = ${plain}`;
    expect(linkOf(await move(ids, null)).served).toBe(true);
    const records = (await postgres.outboxOf("stranded")).map(({ state, domain }) => [
      state,
      domain,
    ]);
    expect(records).toEqual([
      ["active", plain],
      ["active", ""],
    ]);
  });

  test("changes nothing when the domain is removed meanwhile", async () => {
    const { make, move, owner } = await newMover();
    const ids = await make([{ alias: "late" }]);
    const gone = { id: newUuid(), host: "gone.example.com", caseSensitive: true };
    const links = createService(postgres.sql, { requireVerified: () => Promise.resolve(gone) });
    expect(await outcomeOf(move(ids, gone.host, links))).toBe("conflict");
    expect(outcomesOf(await create(owner, [{ url, alias: "late" }]))).toEqual(["alias_taken"]);
  });
});

describe("deleting many links", () => {
  test("deletes the owner's own, each once, and publishes that", async () => {
    const owner = await postgres.addWriter();
    const stranger = await postgres.addWriter();
    const made = await create(owner, [
      { url, alias: "d1" },
      { url, alias: "d2" },
    ]);
    const foreign = linkOf(await create(stranger, [{ url, alias: "d3" }]));
    const ids = [linkOf(made, 0), linkOf(made, 1), linkOf(made, 0), foreign].map(({ id }) =>
      encodeId("link", id),
    );
    const result = await postgres.links.removeMany(owner, [...ids, "none"]);
    expect(outcomesOf(result)).toEqual(["d1", "d2", "invalid_request", "not_found", "not_found"]);
    const [, deleted] = await postgres.outboxOf("d2");
    expect(deleted).toMatchObject({ state: "deleted", alias: "d2" });
    expect(await postgres.links.get(stranger, foreign.id)).toEqual(foreign);
    const list = await postgres.links.list(
      owner,
      { limit: 10, sort: "created_at", order: "desc" },
      { page: 1, limit: 10 },
    );
    expect(list.total).toBe(0);
  });
});

test("the service's own domain is the same by its name as left out", async () => {
  const owner = await postgres.addWriter();
  const rows = ["sho.rt", "SHO.RT.", " sho.rt "].map((domain) => ({ url, domain }));
  const created = await create(owner, [...rows, { url, alias: "help", domain: "sho.rt" }]);
  expect(rows.map((_, index) => linkOf(created, index).domain_host)).toEqual([null, null, null]);
  expect(outcomesOf(created).at(-1)).toBe("invalid_alias");
  const { id } = linkOf(created);
  const moved = await postgres.links.updateMany(owner, [
    { id: encodeId("link", id), domain: "sho.rt" },
  ]);
  expect(linkOf(moved).domain_host).toBeNull();
  for (const domain of ["sho.rt", null])
    expect(
      (await upsertLink(postgres.links, owner, "mine", { url, domain })).link.domain_host,
    ).toBeNull();
  const [foreign] = (await create(owner, [{ url, domain: "other.example.com" }])).results;
  expect(foreign).toMatchObject({ error: { reason: "invalid_request", param: "domain" } });
});

describe("a link that cannot be created at once", () => {
  test("because its domain was removed meanwhile fails alone, and consumes nothing", async () => {
    const owner = await postgres.addWriter();
    let isRemoved = false;
    const links = createService(postgres.sql, {
      requireVerified() {
        if (isRemoved) return Promise.reject(invalidField("domain", "must be a verified domain"));
        isRemoved = true;
        return Promise.resolve({ id: newUuid(), host: "gone.example.com", caseSensitive: true });
      },
    });
    const rows = [
      { url, domain: "gone.example.com" },
      { url, alias: "stays" },
    ];
    expect(outcomesOf(await links.createMany(owner, newUuid(), rows))).toEqual([
      "invalid_request",
      "stays",
    ]);
    expect(await usedOf(owner)).toBe(1);
  });

  test("because the connection ended after its commit is found, and marked as not propagated", async () => {
    const owner = await postgres.addWriter();
    const cutting: Sql = new Proxy(postgres.sql, {
      apply(target, _, args: Parameters<Sql>) {
        const query = target(...args);
        if (!String(args[0]).includes("insert into links")) return query;
        return query.then(() => Promise.reject(Object.assign(new Error(), { code: "ECONNRESET" })));
      },
    });
    const links = createService(cutting);
    const id = newUuid();
    const { link, propagated } = await links.create(owner, id, { url, alias: "unheard" });
    expect([link.id, link.alias, propagated]).toEqual([id, "unheard", false]);
    expect(await usedOf(owner)).toBe(1);
  });
});

test("an update to an external id that another request is just taking fails as any later one", async () => {
  const owner = await postgres.addWriter();
  const made = await create(owner, [{ url }, { url }]);
  const [first, second] = [linkOf(made, 0), linkOf(made, 1)];
  const isWaiting = async () => {
    const rows = await postgres.sql`
      select from pg_locks join pg_stat_activity using (pid)
       where not granted and datname = current_database()`;
    return rows.length > 0;
  };
  let updating: Promise<unknown> | undefined;
  await postgres.sql.begin(async (transaction) => {
    await transaction`update links set external_id = 'contested' where id = ${first.id}`;
    updating = postgres.links.update(owner, second.id, { external_id: "contested" }, anyVersion);
    while (!(await isWaiting())) await Bun.sleep(5);
  });
  const error = await updating?.catch((thrown: unknown) => thrown);
  expect(error instanceof ApiError && error.reason).toBe("external_id_taken");
});
