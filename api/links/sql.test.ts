/** Goal: the statements on links keep aliases unique, versions increasing and accounts separate. */
import { beforeAll, describe, expect, test } from "bun:test";

import { foldAlias } from "../../shared/contracts/alias.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { newLinkBody } from "../../shared/contracts/link-schemas.ts";
import { encodeId, newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { ApiError } from "../http/errors.ts";
import type { Writer } from "../http/principal.ts";
import { type LinkRow, type ListLinksQuery, listLinksQuery, type UpdateLinkBody } from "./model.ts";

const postgres = await forFile(startPostgres());

const create = (
  owner: Writer,
  alias: string,
  more: { url?: string; title?: string; tags?: string[] } = {},
) => postgres.links.create(owner, newUuid(), { url: "https://example.com/", alias, ...more });

const list = (owner: Writer, more: Partial<ListLinksQuery> = {}) =>
  postgres.links.list(
    owner,
    { limit: 10, sort: "created_at", order: "desc", ...more },
    { page: 1, limit: 10 },
  );

/** What the outbox has of an alias, oldest first. */
const outboxOf = async (alias: string): Promise<LinkRecord[]> => {
  const rows = await postgres.sql<{ state: LinkRecord }[]>`
    select state::jsonb as state from link_outbox where alias = ${alias} order by id`;
  return rows.map(({ state }) => state);
};

const codeOf = (error: unknown) => (error instanceof ApiError ? error.reason : error);

test("PostgreSQL ignores the case of aliases as redirectors do, whatever the script", async () => {
  const letters = Array.from({ length: 0x11_00_00 }, (_, code) =>
    String.fromCodePoint(code),
  ).filter((letter) => /^[\p{L}\p{M}\p{N}]$/u.test(letter));
  const aliases = [...letters, "J\u030c", "ΑΣ", "ΑΣΑ", "İi", "Ǆ", "ẞß"];
  const rows = await postgres.sql<{ alias: string; folded: string }[]>`
    select alias, fold_alias(alias) as folded from unnest(${aliases}::text[]) as alias`;
  const different = rows.filter(({ alias, folded }) => foldAlias(alias) !== folded);
  // Letters that one of the two does not know yet.
  expect(different.filter(({ alias }) => !LATER.test(alias))).toEqual([]);
});

/** Letters with a case that a version of Unicode has added which not all servers know. */
const LATER =
  /^[\u1c89\ua7cb\ua7cc\ua7ce\ua7d2\ua7d4\ua7da\ua7dc\u{10d50}-\u{10d65}\u{16ea0}-\u{16eb8}]$/u;

describe("creating a link", () => {
  test("writes the link, its counters and its outbox row together", async () => {
    const owner = await postgres.addWriter();
    const { link, propagated } = await create(owner, "first", { title: "One" });
    expect(propagated).toBe(false);
    expect(await postgres.links.get(owner, link.id)).toMatchObject({ title: "One", clicks: 0 });
    expect(await outboxOf("first")).toMatchObject([
      { state: "active", alias: "first", version: link.version },
    ]);
  });

  test("succeeds exactly once when one alias is created concurrently", async () => {
    const owners = await Promise.all(Array.from({ length: 8 }, () => postgres.addWriter()));
    const results = await Promise.allSettled(owners.map((owner) => create(owner, "contested")));
    const rejected = results.flatMap((result) =>
      result.status === "rejected" ? [codeOf(result.reason)] : [],
    );
    expect(rejected).toEqual(Array.from({ length: 7 }, () => "alias_taken"));
    expect(await outboxOf("contested")).toHaveLength(1);
  });

  test("rejects a destination on the short domain, and writes nothing", async () => {
    const owner = await postgres.addWriter();
    const work = postgres.links.create(owner, newUuid(), { url: "https://sho.rt/x" });
    expect(await work.then(() => undefined, codeOf)).toBe("invalid_url");
    expect((await list(owner)).total).toBe(0);
  });
});

async function createWithNotes(notes: string) {
  const owner = await postgres.addWriter();
  const body = { url: "https://example.com/", notes };
  return { owner, link: (await postgres.links.create(owner, newUuid(), body)).link };
}

describe("notes", () => {
  const NOTES = "Flyer \u200Fשלום 👩‍👩‍👧 é\n\tAsk Kim.";
  test("keep every character, are found by a search, and are never published", async () => {
    const { owner, link } = await createWithNotes(NOTES);
    expect((await postgres.links.get(owner, link.id)).notes).toBe(NOTES);
    expect((await list(owner, { search: "ASK k" })).rows.map(({ id }) => id)).toEqual([link.id]);
    expect(JSON.stringify(await outboxOf(link.alias))).not.toContain("Kim");
  });

  test("change and are removed; a replacement without any removes them", async () => {
    const { owner, link } = await createWithNotes(NOTES);
    const notesAfter = async (body: UpdateLinkBody) =>
      (await postgres.links.update(owner, link.id, body)).link.notes;
    expect(await notesAfter({ title: "T" })).toBe(NOTES);
    expect(await notesAfter({ notes: "Other", external_id: "mine" })).toBe("Other");
    const replacement = { url: "https://example.com/" };
    const upsert = { externalId: "mine", requireVersion: () => undefined, mustExist: false };
    const replaced = await postgres.links.upsert(owner, { ...upsert, body: replacement });
    expect(replaced.link.notes).toBeNull();
  });

  test.each([
    ["a\r\nb\rc", "a\nb\nc"],
    ["  \n ", null],
    ["x".repeat(1_000), "x".repeat(1_000)],
    ["x".repeat(1_001), "refused"],
    ["a\u0000b", "refused"],
    ["a\u001Bb", "refused"],
  ])("%j are %j", (text, expected) => {
    const { success, data } = newLinkBody.safeParse({ url: "https://a.example/", notes: text });
    expect(success ? data.notes : "refused").toBe(expected);
  });
});

test("a link says which key or user has created it, whoever changes it", async () => {
  const [user, key] = [newUuid(), newUuid()];
  const owner: Writer = { ...(await postgres.addWriter()), actor: { type: "user", id: user } };
  const { link } = await create(owner, "by-user");
  const other: Writer = { ...owner, actor: { type: "api_key", id: key } };
  const changed = await postgres.links.update(other, link.id, { title: "T" });
  expect(changed.link.created_by).toBe(encodeId("user", user));
  expect((await create(other, "by-key")).link.created_by).toBe(encodeId("key", key));
  expect((await create(await postgres.addWriter(), "by-itself")).link.created_by).toBeNull();
});

describe("an alias", () => {
  test("that moves to another account has a higher version with every state", async () => {
    const [first, second] = [await postgres.addWriter(), await postgres.addWriter()];
    const { link } = await create(first, "passed-on");
    await postgres.links.update(first, link.id, { title: "Changed" });
    await postgres.links.remove(first, link.id);
    await create(second, "passed-on");
    const states = await outboxOf("passed-on");
    expect(states.map(({ state }) => state)).toEqual(["active", "active", "deleted", "active"]);
    const versions = states.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
  });

  test("is freed by a rename, under the same version as the new alias", async () => {
    const owner = await postgres.addWriter();
    const { link } = await create(owner, "before");
    await postgres.links.update(owner, link.id, { alias: "after" });
    const [, gone] = await outboxOf("before");
    const [taken] = await outboxOf("after");
    expect([gone?.state, taken?.state]).toEqual(["deleted", "active"]);
    expect(gone?.version).toBe(taken?.version);
  });

  test("that is taken fails a rename, which then changes nothing", async () => {
    const owner = await postgres.addWriter();
    await create(owner, "occupied");
    const { link } = await create(owner, "wanderer");
    const work = postgres.links.update(owner, link.id, { alias: "occupied", title: "Lost" });
    expect(await work.then(() => undefined, codeOf)).toBe("alias_taken");
    expect(await postgres.links.get(owner, link.id)).toMatchObject({
      alias: "wanderer",
      title: null,
    });
  });
});

describe("a list", () => {
  test("counts only links of the same account and mode", async () => {
    const owner = await postgres.addWriter();
    const { link } = await create(owner, "mine");
    await create(await postgres.addWriter(), "theirs");
    await create({ ...owner, mode: "test" }, "mine-in-test");
    expect(await list(owner)).toMatchObject({ total: 1, rows: [{ alias: "mine" }] });
    await postgres.links.remove(owner, link.id);
    expect(await list(owner)).toEqual({ total: 0, rows: [], next: null });
  });

  test("treats SQL wildcards in a search as literal characters", async () => {
    const owner = await postgres.addWriter();
    for (const title of ["100% wool", "100 sheep", "a_b", "aXb", String.raw`back\slash`])
      await create(owner, `w-${newUuid().slice(-12)}`, { title });
    const titles = async (search: string) =>
      (await list(owner, { search })).rows.map(({ title }) => title);
    expect(await titles("100%")).toEqual(["100% wool"]);
    expect(await titles("a_b")).toEqual(["a_b"]);
    expect(await titles("\\")).toEqual([String.raw`back\slash`]);
    expect(await titles("'; drop table links; --")).toEqual([]);
  });

  test("finds destinations on a host in either spelling, Unicode or Punycode", async () => {
    const owner = await postgres.addWriter();
    for (const host of ["bücher.example", "xn--bcher-kva.example", "buecher.example"])
      await create(owner, `h-${newUuid().slice(-12)}`, { url: `https://${host}/a` });
    for (const search of ["bücher.example", "https://XN--bcher-kva.example/A", "bücher.example/a"])
      expect((await list(owner, { search })).rows).toHaveLength(2);
  });

  test("finds links by their exact tag", async () => {
    const owner = await postgres.addWriter();
    await create(owner, "tagged", { tags: ["spring", "sale"] });
    await create(owner, "similar", { tags: ["springtime"] });
    expect((await list(owner, { tag: "spring" })).rows.map(({ alias }) => alias)).toEqual([
      "tagged",
    ]);
  });
});

const aliasesOf = ({ rows }: { rows: LinkRow[] }) => rows.map(({ alias }) => alias).toSorted();

describe("the filters of UTM parameters, creator and time", () => {
  const key = newUuid();
  let owner: Writer;
  let createdAt: string;
  beforeAll(async () => {
    owner = await postgres.addWriter();
    const spring = { utm_source: "crm", utm_campaign: "fru\u0308hling", tags: ["a"] };
    await postgres.links.createMany(owner, newUuid(), [
      { url: "https://example.com/", alias: "utm-one", ...spring },
      { url: "https://example.com/", alias: "utm-two", ...spring, utm_content: "50% or_more" },
    ]);
    const other: Writer = { ...owner, actor: { type: "api_key", id: key } };
    const { link } = await postgres.links.create(other, newUuid(), {
      url: "https://example.com/?utm_source=crm",
      alias: "utm-three",
    });
    createdAt = link.created_at.toISOString();
    await postgres.sql`update links set created_at = '2029-01-01' where alias = 'utm-two'`;
  });

  test.each<[() => Record<string, unknown>, string[]]>([
    [() => ({ utm_source: "crm" }), ["utm-one", "utm-two"]],
    [() => ({ utm_source: "CRM" }), []],
    [() => ({ utm_source: " crm ", utm_campaign: "fr\u00FChling" }), ["utm-one", "utm-two"]],
    [() => ({ utm_source: ["other", "crm"], utm_content: "-50% or_more" }), ["utm-one"]],
    [() => ({ utm_content: "50% or_more", tag: "a" }), ["utm-two"]],
    [() => ({ utm_content: "50%" }), []],
    [() => ({ utm_source: "" }), ["utm-three"]],
    [() => ({ utm_content: "-" }), ["utm-two"]],
    [() => ({ created_by: encodeId("key", key) }), ["utm-three"]],
    [() => ({ created_by: encodeId("user", key) }), []],
    [() => ({ created_by: encodeId("key", key), utm_source: "crm" }), []],
    [
      () => ({
        created_after: "2028-12-31T23:00:00-01:00",
        created_before: "2029-02-01T00:00:00Z",
      }),
      ["utm-two"],
    ],
    [() => ({ created_after: createdAt, created_before: "2028-01-01T00:00:00Z" }), ["utm-three"]],
  ])("select %# the same links by page, with their number, and by cursor", async (of, aliases) => {
    const query = listLinksQuery.parse(of());
    const page = await postgres.links.list(owner, query, { page: 1, limit: 10 });
    expect([aliasesOf(page), page.total]).toEqual([aliases, aliases.length]);
    const byCursor = await postgres.links.list(owner, query, { after: null, limit: 10 });
    expect(aliasesOf(byCursor)).toEqual(aliases);
  });
});

test("no account reads, updates or deletes another account's link", async () => {
  const owner = await postgres.addWriter();
  const { link } = await create(owner, "private");
  for (const stranger of [await postgres.addWriter(), { ...owner, mode: "test" as const }]) {
    for (const work of [
      () => postgres.links.get(stranger, link.id),
      () => postgres.links.update(stranger, link.id, { title: "Mine" }),
      () => postgres.links.remove(stranger, link.id),
    ]) {
      expect(await work().then(() => undefined, codeOf)).toBe("not_found");
    }
  }
  expect(await postgres.links.get(owner, link.id)).toMatchObject({ title: null });
});

describe("a link with settings", () => {
  const STARTS_AT = "2030-01-01T08:00:00.000Z";

  test("keeps them in its row and in the record", async () => {
    const owner = await postgres.addWriter();
    const body = {
      url: "https://example.com/",
      alias: "decided",
      starts_at: "2030-01-01T09:00:00+01:00",
    };
    const { link } = await postgres.links.create(owner, newUuid(), body);
    expect((await postgres.links.get(owner, link.id)).extras).toEqual({ starts_at: STARTS_AT });
    await postgres.links.update(owner, link.id, { disabled: true, starts_at: null });
    await postgres.links.update(owner, link.id, { title: "Kept" });
    const { extras, title } = await postgres.links.get(owner, link.id);
    expect([extras, title]).toEqual([{ disabled: true }, "Kept"]);
    await postgres.links.update(owner, link.id, { disabled: false });
    expect((await postgres.links.get(owner, link.id)).extras).toBeNull();
    expect(await outboxOf("decided")).toMatchObject([
      {
        state: "active",
        destination: "https://example.com/",
        extras: { starts_at: Date.parse(STARTS_AT) },
      },
      { state: "active", extras: { disabled: true } },
      { state: "active", extras: { disabled: true } },
      { state: "active" },
    ]);
  });
});
