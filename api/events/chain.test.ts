/**
 * Goal: nobody changes, adds or removes an entry of the ledger without a verification that names it.
 * Method: whatever the owner of the database could do to a chain is done to one, and verified.
 */
import { expect, test } from "bun:test";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { SIGNER, signerOf } from "../../test/harness/links-log.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { type Author, SYSTEM } from "../http/principal.ts";
import { type ChainEnd, deleteAndSign, eraseEntries, extendChains, verifyChains } from "./chain.ts";
import { INSTALLATION, recordCommand, recordEvents } from "./record.ts";

const postgres = await forFile(startPostgres());

const RETENTION = { days: 30, auditDays: 30 };

const record = (author: Author, count: number) =>
  postgres.sql.begin((sql) =>
    recordEvents(
      sql,
      author,
      Array.from({ length: count }, (_, value) => ({
        type: "link.created" as const,
        objectId: newUuid(),
        data: { value, ü: ["é", 1.5, null] },
      })),
    ),
  );

/** Somebody with a chain of some entries, in two runs of numbering. */
async function addChain(): Promise<Author> {
  const author = { accountId: await postgres.addAccount(), mode: "live", actor: SYSTEM } as const;
  await record(author, 3);
  await extendChains(postgres.sql);
  await record(author, 2);
  await extendChains(postgres.sql);
  return author;
}

const verify = async (account?: Uuid, known: readonly ChainEnd[] = [], signer = SIGNER) =>
  await Array.fromAsync(verifyChains(postgres.sql, signer, account, known));

async function problemOf(author: Author, known: readonly ChainEnd[] = [], signer = SIGNER) {
  const [chain] = await verify(author.accountId, known, signer);
  return chain?.problem;
}

const idsOf = async ({ accountId }: Author): Promise<Uuid[]> =>
  (
    await postgres.sql<{ id: Uuid }[]>`
    select id from events where account_id = ${accountId} order by position`
  ).map(({ id }) => id);

const age = ({ accountId }: Author, id: Uuid) => postgres.sql`
  update events
     set id = (lpad(to_hex((extract(epoch from now() - interval '40 days') * 1000)::bigint), 12, '0')
               || substr(replace(id::text, '-', ''), 13))::uuid
   where account_id = ${accountId} and id = ${id}`;

test("a chain is whole as it was recorded, also that of the installation", async () => {
  const author = await addChain();
  await postgres.sql.begin((sql) => recordCommand(sql, "links resync"));
  await extendChains(postgres.sql);
  const own = { account: encodeId("acct", author.accountId), mode: "live", entries: 5 };
  expect(await verify(author.accountId)).toMatchObject([{ ...own, problem: null }]);
  expect(await verify(INSTALLATION.accountId)).toMatchObject([{ account: null, problem: null }]);
});

const sql = () => postgres.sql;

test.each([
  ["changed", (id: Uuid) => sql()`update events set data = '{"value": 7}' where id = ${id}`],
  [
    "blamed on another",
    (id: Uuid) => sql()`
    update events set actor = '{"type": "operator"}' where id = ${id}`,
  ],
  [
    "dated back",
    (id: Uuid) => sql()`
    update events set occurred_at = occurred_at - interval '1 second' where id = ${id}`,
  ],
  [
    "rewritten with its hash",
    (id: Uuid) => sql()`
    update events event set data = '{}', hash = sha256(convert_to(event_text(event, position), 'UTF8'))
     where id = ${id}`,
  ],
] as const)("the entry that was %s is named", async (_, change) => {
  const author = await addChain();
  const ids = await idsOf(author);
  await change(ids[2] ?? "");
  expect(await problemOf(author)).toContain(encodeId("event", ids[2] ?? ""));
});

test("a removed entry is named by the one after it, also the first and the last", async () => {
  for (const place of [0, 2]) {
    const author = await addChain();
    const ids = await idsOf(author);
    await postgres.sql`delete from events where id = ${ids[place] ?? ""}`;
    expect(await problemOf(author)).toContain(encodeId("event", ids[place + 1] ?? ""));
  }
  const author = await addChain();
  const last = (await idsOf(author)).at(-1) ?? "";
  await postgres.sql`delete from events where id = ${last}`;
  expect(await problemOf(author)).toContain("were removed");
});

test("an added entry is named", async () => {
  const author = await addChain();
  const { accountId } = author;
  const id = newUuid();
  await postgres.sql`
    insert into events (id, account_id, mode, type, data, actor, position, hash)
    select ${id}, ${accountId}, 'live', 'link.created', '{}', '{"type": "system"}', max(position) + 1, decode('00', 'hex')
      from events where account_id = ${accountId}`;
  expect(await problemOf(author)).toContain(encodeId("event", id));
});

test("a chain that somebody made anew is another one than an earlier verification saw", async () => {
  const author = await addChain();
  const known = await verify(author.accountId);
  expect(await problemOf(author, known)).toBeNull();
  await record(author, 1);
  await extendChains(postgres.sql);
  expect(await problemOf(author, known)).toBeNull();
  await postgres.sql`update events set data = '{}', position = null where account_id = ${author.accountId}`;
  await postgres.sql`delete from event_heads where account_id = ${author.accountId}`;
  await extendChains(postgres.sql);
  expect(await problemOf(author)).toBeNull();
  expect(await problemOf(author, known)).toContain("removed");
  await postgres.sql`delete from events where account_id = ${author.accountId}`;
  await postgres.sql`delete from event_heads where account_id = ${author.accountId}`;
  const missing = (await verify(undefined, known)).find(
    ({ account }) => account === encodeId("acct", author.accountId),
  );
  expect(missing?.problem).toContain("missing");
});

test("retention leaves a signed beginning, and takes nothing from the middle", async () => {
  const author = await addChain();
  const known = await verify(author.accountId);
  const ids = await idsOf(author);
  // The third is younger: what follows it stays, however old.
  for (const place of [0, 1, 3]) await age(author, ids[place] ?? "");
  // Their ids are part of what the hashes cover.
  await postgres.sql`update events set position = null where account_id = ${author.accountId}`;
  await postgres.sql`delete from event_heads where account_id = ${author.accountId}`;
  await extendChains(postgres.sql);
  expect(await deleteAndSign(postgres.sql, SIGNER, RETENTION, 1_000)).toBe(2);
  expect(await idsOf(author)).toHaveLength(3);
  expect(await problemOf(author)).toBeNull();
  expect(await problemOf(author, [], signerOf({ links_signing_key: "6".repeat(64) }))).toContain(
    "key",
  );
  expect(known).toHaveLength(1);
  await postgres.sql`update event_floors set signature = null where account_id = ${author.accountId}`;
  expect(await problemOf(author)).toContain("key");
});

test("what concerns the installation is kept for a time of its own, and begins signed afterwards", async () => {
  const { sql } = postgres;
  const [author, installation] = [await addChain(), { ...INSTALLATION, actor: SYSTEM }];
  await record(installation, 2);
  await extendChains(sql);
  for (const one of [author, installation]) {
    for (const id of await idsOf(one)) await age(one, id);
    await sql`update events set position = null where account_id = ${one.accountId}`;
    await sql`delete from event_heads where account_id = ${one.accountId}`;
  }
  const kept = (await idsOf(installation)).length;
  expect(await deleteAndSign(sql, SIGNER, { days: 30, auditDays: 50 }, 1_000)).toBe(5);
  expect(await idsOf(installation)).toHaveLength(kept);
  await record(installation, 1);
  await extendChains(sql);
  expect(await deleteAndSign(sql, SIGNER, { days: 30, auditDays: 35 }, 1_000)).toBe(kept);
  expect(await idsOf(installation)).toHaveLength(1);
  for (const one of [author, installation]) expect(await problemOf(one)).toBeNull();
});

test("a chain of which everything was deleted by retention goes on", async () => {
  const author = await addChain();
  for (const id of await idsOf(author)) await age(author, id);
  await postgres.sql`update events set position = null where account_id = ${author.accountId}`;
  await postgres.sql`delete from event_heads where account_id = ${author.accountId}`;
  expect(await deleteAndSign(postgres.sql, SIGNER, RETENTION, 1_000)).toBe(5);
  expect(await problemOf(author)).toBeNull();
  await record(author, 1);
  await extendChains(postgres.sql);
  expect(await verify(author.accountId)).toMatchObject([{ entries: 1, problem: null }]);
});

/** Erases the entries at these places of a chain. */
const erase = async (author: Author, ...places: number[]): Promise<void> => {
  const ids = await idsOf(author);
  const chosen = places.map((place) => ids[place] ?? "");
  await postgres.sql.begin((sql) => eraseEntries(sql, SIGNER, author, chosen));
};

test.each([
  ["in the middle", [1, 2]],
  ["at the beginning", [0]],
  ["at the end", [3, 4]],
  ["here and there", [0, 2, 4]],
  ["all", [0, 1, 2, 3, 4]],
] as const)(
  "a chain is whole across entries that were erased %s, and goes on",
  async (_, places) => {
    const author = await addChain();
    const known = await verify(author.accountId);
    await erase(author, ...places);
    const left = { entries: 5 - places.length, problem: null };
    expect(await verify(author.accountId, known)).toMatchObject([left]);
    await record(author, 2);
    await extendChains(postgres.sql);
    const more = { entries: 7 - places.length, problem: null };
    expect(await verify(author.accountId, known)).toMatchObject([more]);
    // Once more, beside what was erased before.
    await erase(author, 0);
    expect(await problemOf(author, known)).toBeNull();
    expect(await problemOf(author, [], signerOf({ links_signing_key: "6".repeat(64) }))).toContain(
      "key",
    );
  },
);

test("an erasure hides nothing that somebody else removes beside it", async () => {
  for (const place of [0, 1]) {
    const author = await addChain();
    await erase(author, 2);
    const ids = await idsOf(author);
    await postgres.sql`delete from events where id = ${ids[1 + place] ?? ""}`;
    expect(await problemOf(author)).toContain("removed");
  }
  const author = await addChain();
  await postgres.sql`
    insert into event_cuts (account_id, mode, position, after, hash, signature)
    select account_id, mode, position, position - 1, hash, '' from events where account_id = ${author.accountId}
     order by position desc limit 1`;
  await postgres.sql`
    delete from events where account_id = ${author.accountId} and position = (select max(position) from event_cuts)`;
  expect(await problemOf(author)).toContain("key");
});

test("retention takes what an erasure has left of the beginning", async () => {
  const author = await addChain();
  for (const id of await idsOf(author)) await age(author, id);
  await postgres.sql`update events set position = null where account_id = ${author.accountId}`;
  await postgres.sql`delete from event_heads where account_id = ${author.accountId}`;
  await extendChains(postgres.sql);
  await erase(author, 1, 4);
  expect(await deleteAndSign(postgres.sql, SIGNER, RETENTION, 1_000)).toBe(3);
  expect(await problemOf(author)).toBeNull();
  const cuts = await postgres.sql`select from event_cuts where account_id = ${author.accountId}`;
  expect(cuts).toHaveLength(1);
  await record(author, 1);
  await extendChains(postgres.sql);
  expect(await verify(author.accountId)).toMatchObject([{ entries: 1, problem: null }]);
});
