/** Goal: the statements on links keep aliases unique, versions increasing and accounts separate. */
import { beforeAll, describe, expect, test } from "bun:test";

import { foldAlias } from "../../shared/contracts/alias.ts";
import { newLinkBody } from "../../shared/contracts/link-schemas.ts";
import { encodeId, newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { anyVersion, startPostgres } from "../../test/harness/postgres.ts";
import type { Writer } from "../http/principal.ts";
import { type LinkRow, type ListLinksQuery, listLinksQuery } from "./model.ts";

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

describe("notes", () => {
  const NOTES = "Flyer \u200Fשלום 👩‍👩‍👧 é\n\tAsk Kim.";
  test("keep every character, are found by a search, and are never published", async () => {
    const owner = await postgres.addWriter();
    const body = { url: "https://example.com/", notes: NOTES };
    const { link } = await postgres.links.create(owner, newUuid(), body);
    expect((await postgres.links.get(owner, link.id)).notes).toBe(NOTES);
    expect((await list(owner, { search: "ASK k" })).rows.map(({ id }) => id)).toEqual([link.id]);
    expect(JSON.stringify(await postgres.outboxOf(link.alias))).not.toContain("Kim");
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
  const changed = await postgres.links.update(other, link.id, { title: "T" }, anyVersion);
  expect(changed.link.created_by).toBe(encodeId("user", user));
  expect((await create(other, "by-key")).link.created_by).toBe(encodeId("key", key));
  expect((await create(await postgres.addWriter(), "by-itself")).link.created_by).toBeNull();
});

describe("an alias", () => {
  test("that moves to another account has a higher version with every state", async () => {
    const [first, second] = [await postgres.addWriter(), await postgres.addWriter()];
    const { link } = await create(first, "passed-on");
    await postgres.links.update(first, link.id, { title: "Changed" }, anyVersion);
    await postgres.links.remove(first, link.id, anyVersion);
    await create(second, "passed-on");
    const states = await postgres.outboxOf("passed-on");
    expect(states.map(({ state }) => state)).toEqual(["active", "active", "deleted", "active"]);
    const versions = states.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
  });
});

describe("a list", () => {
  test("counts only links of the same account and mode", async () => {
    const owner = await postgres.addWriter();
    const { link } = await create(owner, "mine");
    await create(await postgres.addWriter(), "theirs");
    await create({ ...owner, mode: "test" }, "mine-in-test");
    expect(await list(owner)).toMatchObject({ total: 1, rows: [{ alias: "mine" }] });
    await postgres.links.remove(owner, link.id, anyVersion);
    expect(await list(owner)).toEqual({ total: 0, rows: [], next: null });
  });

  test("finds destinations on a host in either spelling, Unicode or Punycode", async () => {
    const owner = await postgres.addWriter();
    for (const host of ["bücher.example", "xn--bcher-kva.example", "buecher.example"])
      await create(owner, `h-${newUuid().slice(-12)}`, { url: `https://${host}/a` });
    for (const search of ["bücher.example", "https://XN--bcher-kva.example/A", "bücher.example/a"])
      expect((await list(owner, { search })).rows).toHaveLength(2);
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
