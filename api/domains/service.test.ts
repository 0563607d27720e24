/**
 * Goal: settings and case of a domain are changed as a whole or not at all, and what is published
 * agrees with them.
 */
import { describe, expect, test } from "bun:test";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { outcomeOf } from "../../test/harness/outcomes.ts";
import { anyVersion, startPostgres, upsertLink } from "../../test/harness/postgres.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { Republishing, selectAfter, selectServed } from "../links/republishing.ts";
import { LinkService } from "../links/service.ts";
import { takeLinkDown } from "../links/takedown.ts";
import { PasswordHashing } from "../passwords/hashing.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import { withRepublishing } from "./republishing.ts";
import { DomainService } from "./service.ts";

const postgres = await forFile(startPostgres());
const { sql } = postgres;
/** The TXT records of names; `fail` for DNS that does not answer. */
const txt: Map<string, string[] | "fail"> = new Map();
const ownHosts = new Set(["sho.rt"]);
const readTxt = (name: string) => {
  const records = txt.get(name) ?? [];
  return records === "fail"
    ? Promise.reject(new Error("DNS does not answer."))
    : Promise.resolve(records);
};

/** Takes nothing out of the outbox. */
const publisher = { publish: () => Promise.resolve(true) };

const domains = new DomainService(sql, publisher, readTxt, ownHosts, (url) => Promise.resolve(url));
const destinationRules = { allowPrivate: false, shortUrl: new URL("https://sho.rt"), ownHosts };
const usedClicks = { read: () => Promise.resolve(undefined) };
const links = new LinkService(
  sql,
  publisher,
  domains,
  destinationRules,
  new PasswordHashing(),
  usedClicks,
);

/** Everything that is published, in order. */
async function readPublished(): Promise<LinkRecord[]> {
  const rows = await postgres.sql<{ state: LinkRecord }[]>`
    select state::jsonb as state from link_outbox order by id`;
  return rows.map(({ state }) => state);
}

let added = 0;

/** Adds a domain that is verified. */
async function addDomain(host = `d${++added}.example.com`) {
  const owner = await postgres.addWriter("free");
  const { id } = await domains.create(owner, newUuid(), host);
  await postgres.sql`update domains set verified_at = now() where id = ${id}`;
  const create = (alias?: string) =>
    links.create(owner, newUuid(), { url: "https://example.com/", domain: host, alias });
  return { owner, host, id, create };
}

/** The error of a request to create or change a link. */
const problemOf = async (request: Promise<unknown>): Promise<unknown> =>
  await request.then(
    () => undefined,
    (error: unknown) => (error instanceof ApiError ? [error.reason, error.param] : error),
  );

test("a host that no text can be is nobody's, and those that others ask for at once are found", async () => {
  const { host } = await addDomain();
  const asked = ["a\0.example.com", host, "none.example.com"];
  expect(await Promise.all(asked.map((name) => domains.isCustom(name)))).toEqual([
    false,
    true,
    false,
  ]);
});

describe("links on an account's own domain", () => {
  const UNICODE = "Bücher.example.com";

  test("are found by a pasted short URL, and by the domain in any script", async () => {
    const { owner, host, create } = await addDomain("xn--bcher-kva.example.com");
    const { link: custom } = await create("found");
    const { link: own } = await links.create(owner, newUuid(), {
      url: "https://example.com/a",
      alias: "found-own",
    });
    const cases: [string, Uuid[]][] = [
      [`https://${host}/found`, [custom.id]],
      [`${UNICODE}/found?utm_source=x`, [custom.id]],
      [`${host.toUpperCase()}/found/`, [custom.id]],
      ["https://sho.rt/found-own", [own.id]],
      ["SHO.RT/found-own+", [own.id]],
      ["sho.rt/found-own&utm_source=x", [own.id]],
      // Another link, none, and a destination.
      ["sho.rt/found", []],
      [`${host}/found-own`, []],
      ["example.com/a", [own.id]],
    ];
    const order = { sort: "created_at", order: "desc", limit: 10 } as const;
    for (const [search, expected] of cases) {
      const found = await links.list(owner, { ...order, search }, { page: 1, limit: 10 });
      expect([search, found.rows.map(({ id }) => id)]).toEqual([search, expected]);
      const read = await links.list(owner, { ...order, search }, { limit: 10, after: null });
      expect([search, read.rows.map(({ id }) => id)]).toEqual([search, expected]);
    }
    for (const domain of [UNICODE, ` ${UNICODE}. `, host.toUpperCase()]) {
      expect((await links.lookUp(owner, { aliases: ["found"], domain })).id).toBe(custom.id);
      const listed = await links.list(owner, { ...order, domain }, { limit: 10, after: null });
      expect(listed.rows.map(({ id }) => id)).toEqual([custom.id]);
    }
    const upsert = (domain: string, title: string) =>
      upsertLink(links, owner, "crm-1", { url: "https://example.com/", domain, title });
    const { link: upserted } = await upsert(UNICODE, "first");
    expect((await upsert(host, "second")).link.id).toBe(upserted.id);
    expect((await upsert(UNICODE, "third")).link).toMatchObject({ title: "third" });
  });

  test("may have every alias but what redirectors serve there themselves", async () => {
    const { owner, create } = await addDomain();
    const onOwn = (alias: string) =>
      links.create(owner, newUuid(), { url: "https://example.com/", alias });
    const reserved = ["invalid_alias", "alias"];
    for (const alias of ["help", "docs", "Status", "v1", "login"]) {
      const { link } = await create(alias);
      expect(await problemOf(onOwn(alias))).toEqual(reserved);
      const rename = (to: string) => links.update(owner, link.id, { alias: to }, anyVersion);
      expect((await rename(`${alias}-2`)).link.alias).toBe(`${alias}-2`);
      expect((await rename(alias)).link.alias).toBe(alias);
      expect(await problemOf(rename("HealthZ"))).toEqual(reserved);
    }
    expect(await problemOf(create("healthz"))).toEqual(reserved);
    const { link } = await onOwn(`own-${newUuid()}`);
    expect(await problemOf(links.update(owner, link.id, { alias: "help" }, anyVersion))).toEqual(
      reserved,
    );
  });
});

/** The last state of each alias of a host. */
const lastStates = async (host: string): Promise<Record<string, LinkRecord["state"]>> =>
  Object.fromEntries(
    (await readPublished())
      .filter(({ domain, alias }) => domain === host && !alias.startsWith("@"))
      .map(({ alias, state }) => [alias, state]),
  );

const noticeOf = async (host: string) =>
  (await readPublished()).findLast(({ domain, alias }) => domain === host && alias === "@domain");

test("settings are merged, stored and published; without an effect nothing is", async () => {
  const { owner, host, id } = await addDomain();
  await domains.update(owner, id, { root_url: "https://example.com", assetlinks: [{ a: 1 }] });
  await domains.update(owner, id, { expired_url: "https://example.com/ü", root_url: undefined });
  const { row } = await domains.update(owner, id, { assetlinks: null });
  expect(row.settings).toEqual({
    root_url: "https://example.com",
    expired_url: "https://example.com/ü",
  });
  expect(await domains.get(owner, id)).toEqual(row);
  expect(await noticeOf(host)).toMatchObject({
    settings: { root_url: "https://example.com/", expired_url: "https://example.com/%C3%BC" },
  });
  const before = (await readPublished()).length;
  await domains.update(owner, id, { case_sensitive: true, not_found_url: null });
  expect(await readPublished()).toHaveLength(before);
  await domains.remove(owner, id);
  expect(await noticeOf(host)).toMatchObject({ settings: {} });
});

test("a domain that no link of the account can have is refused, and the error names some that can", async () => {
  const { owner, host } = await addDomain();
  const foreign = await addDomain();
  const pending = `pending.${host}`;
  await domains.create(owner, newUuid(), pending);
  await links.requireKnownDomains(owner, ["sho.rt", host, pending], "domain");
  for (const hosts of [["other.example"], [host, foreign.host]]) {
    const refused = links.requireKnownDomains(owner, hosts, "domain").catch((error) => error);
    expect(await refused).toMatchObject({
      reason: "invalid_request",
      param: "domain",
      message: `Invalid value for "domain": must be a domain of the account, such as sho.rt, ${host}, ${pending}.`,
    });
  }
});

describe("a switch of case", () => {
  test("is refused while aliases collide, and changes nothing", async () => {
    const { owner, id, create } = await addDomain();
    for (const alias of ["a", "A", "b"]) await create(alias);
    const change = { case_sensitive: false, root_url: "https://example.com/" };
    const error = await domains.update(owner, id, change).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "aliases_collide" });
    expect(String(error)).toContain("A, a");
    expect(await domains.get(owner, id)).toMatchObject({ case_sensitive: true, settings: null });
  });

  test("leaves no alias of a link that would be deleted or renamed meanwhile", async () => {
    const { owner, id, host, create } = await addDomain();
    const [{ link: first }, { link: second }] = [await create("First"), await create("Second")];
    await domains.update(owner, id, { case_sensitive: false });
    const rename = () => links.update(owner, second.id, { alias: "Third" }, anyVersion);
    expect(await outcomeOf(links.remove(owner, first.id, anyVersion))).toBe("unavailable");
    expect(await outcomeOf(rename())).toBe("unavailable");
    await finishJobs();
    await links.remove(owner, first.id, anyVersion);
    await rename();
    expect(await lastStates(host)).toEqual({
      First: "deleted",
      first: "deleted",
      Second: "deleted",
      second: "deleted",
      third: "active",
    });
  });

  test("publishes the aliases that it changes, and no others", async () => {
    const { owner, id, host, create } = await addDomain();
    for (const alias of ["plain", "Mixed"]) await create(alias);
    for (const [case_sensitive, names] of [
      [false, ["mixed active", "Mixed deleted"]],
      [true, ["Mixed active", "mixed deleted"]],
    ] as const) {
      await domains.update(owner, id, { case_sensitive });
      const before = (await readPublished()).length;
      await finishJobs();
      const published = (await readPublished())
        .slice(before)
        .filter(({ domain }) => domain === host);
      expect(published.map(({ alias, state }) => `${alias} ${state}`)).toEqual([
        ...names,
        "@domain deleted",
      ]);
      expect(await domains.get(owner, id)).toMatchObject({ case_sensitive, switching: false });
    }
  });
});

/** Runs the job until links are published and withdrawn. */
async function finishJobs(): Promise<void> {
  const log = processLog("test", "silent");
  const republishing = new Republishing(postgres.sql, publisher, log);
  const isLeft = async () =>
    (await postgres.sql`select from domains where republishing or switching`).length > 0;
  while (await isLeft()) await Bun.sleep(20);
  await republishing.stop();
}

/** Adds a domain that is verified by its TXT record. */
async function prove(host: string) {
  const owner = await postgres.addWriter("free");
  const { id, verification_value } = await domains.create(owner, newUuid(), host);
  txt.set(`_shorthop.${host}`, [verification_value]);
  expect((await domains.verify(owner, id)).problem).toBeNull();
  const create = (alias: string) =>
    links.create(owner, newUuid(), { url: "https://example.com/", domain: host, alias });
  return { owner, id, host, create };
}

describe("a domain", () => {
  test("is the account's that finds its TXT record there first, and stays so without the record", async () => {
    const [owner, other, late] = [
      await postgres.addWriter(),
      await postgres.addWriter(),
      await postgres.addWriter(),
    ];
    const { id, host, verification_value } = await domains.create(
      owner,
      newUuid(),
      " First.Example.COM. ",
    );
    expect(host).toBe("first.example.com");
    const { id: theirs } = await domains.create(other, newUuid(), host);
    const name = `_shorthop.${host}`;
    for (const records of [[], [`${verification_value}x`]]) {
      txt.set(name, records);
      const { row, problem } = await domains.verify(owner, id);
      expect([row.verified_at, problem]).toEqual([null, expect.stringContaining("TXT record")]);
    }
    txt.set(name, "fail");
    expect(domains.verify(owner, id)).rejects.toThrow("DNS does not answer.");
    expect((await domains.get(owner, id)).verified_at).toBeNull();
    txt.set(name, ["v=spf1 -all", verification_value]);
    const { row, problem } = await domains.verify(owner, id);
    expect([row.verified_at, problem]).toEqual([expect.any(Date), null]);
    txt.set(name, [(await domains.get(other, theirs)).verification_value]);
    expect(await domains.verify(owner, id)).toMatchObject({ row, problem: null, askedAt: null });
    expect(await outcomeOf(domains.verify(other, theirs))).toBe("domain_taken");
    for (const again of [late, owner])
      expect(await outcomeOf(domains.create(again, newUuid(), host))).toBe("domain_taken");
  });

  test("has links once it is verified, of its own account and mode alone", async () => {
    const { owner, host, create } = await prove("mine.example.com");
    const { host: pending } = await domains.create(owner, newUuid(), "pending.example.com");
    expect(await outcomeOf(create("mine"))).toBe("done");
    const url = "https://example.com/";
    for (const [by, domain] of [
      [owner, pending],
      [owner, "nowhere.example.com"],
      [owner, "nonsense"],
      [owner, ""],
      [{ ...owner, mode: "test" as const }, host],
      [await postgres.addWriter(), host],
    ] as const)
      expect([domain, await problemOf(links.create(by, newUuid(), { url, domain }))]).toEqual([
        domain,
        ["invalid_request", "domain"],
      ]);
  });

  test("stays while it has links, and is anybody's once it is removed", async () => {
    const { owner, id, host, create } = await prove("busy.example.com");
    const { link } = await create("busy");
    expect(await outcomeOf(domains.remove(owner, id))).toBe("domain_in_use");
    await links.remove(owner, link.id, anyVersion);
    await domains.remove(owner, id);
    expect(await outcomeOf(domains.get(owner, id))).toBe("not_found");
    expect(await problemOf(create("late"))).toEqual(["invalid_request", "domain"]);
    await prove(host);
  });

  test("is no destination, because its links would lead in circles", async () => {
    const { host, owner } = await prove("circle.example.com");
    const { link } = await links.create(owner, newUuid(), { url: "https://example.com/" });
    for (const url of [`https://${host}/x`, `http://${host.toUpperCase()}.:81/`])
      for (const work of [
        links.create(owner, newUuid(), { url }),
        links.update(owner, link.id, { url }, anyVersion),
      ])
        expect(await problemOf(work)).toEqual(["invalid_url", "url"]);
  });

  test("is listed for its account and mode alone, newest first", async () => {
    const owner = await postgres.addWriter();
    const add = (by: typeof owner, host: string) => domains.create(by, newUuid(), host);
    for (const host of ["one.list.example", "two.list.example"]) await add(owner, host);
    await add({ ...owner, mode: "test" }, "three.list.example");
    const { rows, total } = await domains.list(owner, { page: 1, limit: 10 });
    expect([rows.map(({ host }) => host), total]).toEqual([
      ["two.list.example", "one.list.example"],
      2,
    ]);
    // A page can end between two of one moment.
    await sql`update domains set created_at = now() where account_id = ${owner.accountId}`;
    const first = await domains.list(owner, { after: null, limit: 1 });
    const second = await domains.list(owner, { after: first.next, limit: 1 });
    const hosts = [...first.rows, ...second.rows].map(({ host }) => host);
    expect(hosts.toSorted()).toEqual(["one.list.example", "two.list.example"]);
  });
});

const makeDue = (id: Uuid) =>
  postgres.sql`update domains set checked_at = now() - interval '25 hours' where id = ${id}`;

const missingSince = async (owner: AccountScope, id: Uuid) =>
  (await domains.get(owner, id)).missing_since;

const makeStale = (id: Uuid, days: number) => postgres.sql`
  update domains set missing_since = now() - make_interval(days => ${days}) where id = ${id}`;

describe("a proof", () => {
  test("is looked up daily; an absence is noted, DNS that does not answer is none", async () => {
    const { owner, id, host } = await prove("daily.example.com");
    await domains.checkProofs(100);
    expect(await missingSince(owner, id)).toBeNull();
    txt.set(`_shorthop.${host}`, "fail");
    await makeDue(id);
    await domains.checkProofs(100);
    expect(await missingSince(owner, id)).toBeNull();
    txt.set(`_shorthop.${host}`, ["another"]);
    // Asked an hour ago, it is not asked yet.
    await domains.checkProofs(100);
    expect(await missingSince(owner, id)).toBeNull();
    await makeDue(id);
    await domains.checkProofs(100);
    const since = await missingSince(owner, id);
    expect(since).toBeInstanceOf(Date);
    await makeDue(id);
    await domains.checkProofs(100);
    expect(await missingSince(owner, id)).toEqual(since);
    txt.set(`_shorthop.${host}`, [(await domains.get(owner, id)).verification_value]);
    await makeDue(id);
    await domains.checkProofs(100);
    expect(await missingSince(owner, id)).toBeNull();
  });

  test("of another account displaces one that has been missing for more than 7 days, and only that", async () => {
    const old = await prove("moves.example.com");
    for (const alias of ["Kept", "shared"]) await old.create(alias);
    await domains.update(old.owner, old.id, { root_url: "https://example.com/" });
    const next = await postgres.addWriter();
    expect(await outcomeOf(domains.create(next, newUuid(), old.host))).toBe("domain_taken");
    await makeStale(old.id, 6);
    expect(await outcomeOf(domains.create(next, newUuid(), old.host))).toBe("domain_taken");
    await makeStale(old.id, 8);
    const { id, verification_value } = await domains.create(next, newUuid(), old.host);
    // The old record is back.
    const { verification_value: oldValue } = await domains.get(old.owner, old.id);
    txt.set(`_shorthop.${old.host}`, [oldValue, verification_value]);
    expect(await outcomeOf(domains.verify(next, id))).toBe("domain_taken");
    txt.set(`_shorthop.${old.host}`, [verification_value]);
    await makeStale(old.id, 6);
    expect(await outcomeOf(domains.verify(next, id))).toBe("domain_taken");
    await makeStale(old.id, 8);
    expect((await domains.verify(next, id)).row.verified_at).toBeInstanceOf(Date);
    expect((await domains.get(old.owner, old.id)).verified_at).toBeNull();
    const settings = { root_url: "https://example.com/other" };
    expect(await problemOf(domains.update(old.owner, old.id, settings))).toEqual([
      "invalid_request",
      undefined,
    ]);
    expect(await noticeOf(old.host)).toMatchObject({ settings: {} });
    const { link } = await links.create(next, newUuid(), {
      url: "https://example.com/next",
      domain: old.host,
      alias: "shared",
    });
    await finishJobs();
    expect(await lastStates(old.host)).toMatchObject({ Kept: "deleted", shared: "active" });
    // Whatever the old owner does with the links that are left, the new one's stay.
    const before = (await readPublished()).length;
    const left = await links.list(
      old.owner,
      { sort: "created_at", order: "desc", limit: 10 },
      { page: 1, limit: 10 },
    );
    const [first, second] = left.rows;
    await links.update(old.owner, first?.id, { title: "x" }, anyVersion);
    await links.updateMany(old.owner, [{ id: encodeId("link", first?.id ?? link.id), title: "y" }]);
    await links.remove(old.owner, first?.id, anyVersion);
    await links.removeMany(old.owner, [encodeId("link", second?.id ?? link.id)]);
    expect(await readPublished()).toHaveLength(before);
    expect(await lastStates(old.host)).toMatchObject({ shared: "active" });
    expect(await outcomeOf(old.create("again"))).toBe("invalid_request");
  });

  test("of another account withdraws every link, also one that its owner deletes or renames meanwhile", async () => {
    const old = await prove("leaves.example.com");
    const [{ link: first }, { link: second }] = [
      await old.create("first"),
      await old.create("second"),
    ];
    await makeStale(old.id, 8);
    const next = await postgres.addWriter();
    const { id, verification_value } = await domains.create(next, newUuid(), old.host);
    txt.set(`_shorthop.${old.host}`, [verification_value]);
    await domains.verify(next, id);
    const rename = () => links.update(old.owner, second.id, { alias: "renamed" }, anyVersion);
    expect(await outcomeOf(links.remove(old.owner, first.id, anyVersion))).toBe("unavailable");
    expect(await outcomeOf(rename())).toBe("unavailable");
    await links.update(old.owner, second.id, { title: "x" }, anyVersion);
    await finishJobs();
    await links.remove(old.owner, first.id, anyVersion);
    await rename();
    expect(await lastStates(old.host)).toEqual({ first: "deleted", second: "deleted" });
  });
});

describe("links that are published again", () => {
  test("are found by the indexes of aliases, not among all links", async () => {
    const { owner, host, id } = await addDomain();
    const count = 2_000;
    await sql`
      with added as (
        insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, version, created_at, updated_at)
        select gen_random_uuid(), ${owner.accountId}, 'live', case when i % 2 = 0 then ${id}::uuid end, 'Many-' || i, url, url, i, now(), now()
          from generate_series(1, ${count}::integer) i, (values ('https://example.com/')) urls (url)
        returning id)
      insert into link_counters (link_id, account_id, mode) select id, ${owner.accountId}, 'live' from added`;
    await sql`analyze links, link_counters, domains`;
    const domain = { id, republishing: true, switching: false, verified: true };
    const names = ["Many-2", "many-2"].map((alias) => ({ domain: host, alias }));
    for (const reading of [selectAfter(sql, domain, ""), selectServed(sql, names)]) {
      const plan = JSON.stringify(await sql`explain ${reading}`);
      expect(plan).toContain("links_alias_key");
      expect(plan).not.toContain("links_by_domain");
      expect(plan).not.toContain("Seq Scan on links");
    }
  });

  test("do not wait for those of a domain that fail each time", async () => {
    const [bad, good] = [await addDomain(), await addDomain()];
    await sql`
      update domains set republishing = true where id = any (${[bad.id, good.id]}::uuid[])`;
    const isDone = async () =>
      (await sql`select from domains where id = ${good.id} and republishing`).length === 0;
    const work = async ({ id }: { id: Uuid }) => {
      if (id === bad.id) throw new Error("They fail.");
      return true;
    };
    for (let i = 0; i < 50 && !(await isDone()); i++)
      await withRepublishing(sql, publisher, work).catch(() => undefined);
    expect(await isDone()).toBe(true);
    await finishJobs();
  });
});

describe("a takedown", () => {
  test("of a link is in its record until it is lifted, whatever its owner changes", async () => {
    const { owner, host, create } = await addDomain();
    const { link } = await create("bad");
    expect(await takeLinkDown(postgres.sql, { domain: host, alias: "bad" }, true)).toBe(true);
    await links.update(owner, link.id, { title: "x", disabled: true }, anyVersion);
    expect((await readPublished()).at(-1)).toMatchObject({
      state: "active",
      extras: { taken_down: true, disabled: true },
    });
    expect(await links.get(owner, link.id)).toMatchObject({ taken_down: true });
    const refused = ["link_taken_down", undefined];
    expect(await problemOf(links.remove(owner, link.id, anyVersion))).toEqual(refused);
    expect(await problemOf(links.update(owner, link.id, { alias: "free" }, anyVersion))).toEqual(
      refused,
    );
    const id = encodeId("link", link.id);
    for (const results of [
      await links.removeMany(owner, [id]),
      await links.updateMany(owner, [{ id, alias: "free" }]),
    ])
      expect(JSON.stringify(results)).toContain("link_taken_down");
    const deletion = postgres.sql`delete from links where id = ${link.id}`;
    expect(await deletion.catch((thrown: unknown) => thrown)).toMatchObject({ code: "57P03" });
    await takeLinkDown(postgres.sql, { domain: host, alias: "bad" }, false);
    expect(await links.get(owner, link.id)).toMatchObject({ taken_down: false });
    expect(await takeLinkDown(postgres.sql, { domain: "", alias: "bad" }, true)).toBe(false);
    await links.remove(owner, link.id, anyVersion);
  });

  test("of a host or an account is listed and published whole, and shown in the links", async () => {
    const { owner, create } = await addDomain();
    const { link } = await create();
    const { sql } = postgres;
    expect(await changeTakedowns(sql, "account", newUuid(), true)).toBe(false);
    expect(await changeTakedowns(sql, "host", "never.example", false)).toBe(false);
    await changeTakedowns(sql, "host", "evil.example", true);
    await changeTakedowns(sql, "account", owner.accountId, true);
    const published = await readPublished();
    expect(published.findLast(({ alias }) => alias === "@takedowns")).toMatchObject({
      takedowns: { accounts: [owner.accountId], hosts: ["evil.example"] },
    });
    // What a process shows may be a second old.
    const becomes = (taken_down: boolean) =>
      eventually(async () => expect(await links.get(owner, link.id)).toMatchObject({ taken_down }));
    await becomes(true);
    await changeTakedowns(sql, "account", owner.accountId, false);
    await becomes(false);
    await changeTakedowns(sql, "host", "evil.example", false);
  });

  test("that no message has room for is refused", async () => {
    const { sql } = postgres;
    const label = "x".repeat(60);
    await sql`insert into takedowns (kind, subject)
      select 'host', ${`${label}.${label}.`} || i || '.example' from generate_series(1, 600) i`;
    const error = await changeTakedowns(sql, "host", "one-more.example", true).catch(
      (thrown: unknown) => thrown,
    );
    expect(String(error)).toContain("at most");
    await sql`delete from takedowns`;
  });
});
