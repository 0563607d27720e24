/**
 * The chains of hashes of the ledger. Each feed, of an account and mode, has one: an entry's hash
 * covers what it says and the hash of the entry before it (`event_text` and `number_events` in
 * `api/migrations/0006_events.sql`). Where retention has deleted the beginning, or an erasure a
 * part, the last hash of it is signed, with the key that signs the links log: so a verification
 * finds the first entry that was changed, added or removed.
 */
import { createHash } from "node:crypto";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { LogSigner, LogVerifier } from "../../shared/links-log/signature.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { INSTALLATION } from "./record.ts";
import { numberEvents } from "./sql.ts";

/** Feeds that one round extends, and transactions of some thousands of events for each. */
const FEEDS_MAX = 1_000;
const NUMBERINGS_MAX = 20;

/**
 * Gives the events of all feeds their positions and hashes, also of those that nobody reads; what
 * is left, the next round does.
 */
export async function extendChains(sql: Sql): Promise<void> {
  for (const feed of await findUnnumbered(sql))
    for (let i = 0; i < NUMBERINGS_MAX; i++) if (!(await numberEvents(sql, feed))) break;
}

/** Gives all events of a feed that are committed their positions and hashes. */
export async function extendChain(sql: Sql, feed: AccountScope): Promise<void> {
  while (await numberEvents(sql, feed));
}

/** Whether an account has a chain: that of one that was erased stays. */
export async function hasChain(sql: Sql, account: Uuid): Promise<boolean> {
  return (await sql`select from event_heads where account_id = ${account}`).length > 0;
}

/** For how many days events are kept: those of accounts, and those of the installation. */
type Retention = { days: number; auditDays: number };

/** Deletes old events, about `max` at most, and signs where feeds begin; returns how many. */
export const deleteAndSign = (
  sql: Sql,
  signer: LogSigner,
  { days, auditDays }: Retention,
  max: number,
): Promise<number> =>
  sql.begin(async (transaction) => {
    const floors = await transaction<(ChainPlace & { deleted: number })[]>`
      select account_id as "accountId", mode, position::float8 as position, hash, deleted
        from delete_old_events(${days}, ${auditDays}, ${max})`;
    for (const floor of floors)
      await transaction`
        update event_floors set signature = ${signer.signText(floorStatement(floor))}
         where account_id = ${floor.accountId} and mode = ${floor.mode} and position = ${floor.position}`;
    return floors.reduce((sum, { deleted }) => sum + deleted, 0);
  });

/**
 * Erases entries that have positions, and signs where the chain goes on behind them. Only the owner
 * of the tables may.
 */
export async function eraseEntries(
  sql: Transaction,
  signer: LogSigner,
  feed: AccountScope,
  ids: readonly Uuid[],
): Promise<void> {
  const { accountId, mode } = feed;
  for (const run of await findRuns(sql, feed, ids)) {
    const signature = signer.signText(cutStatement({ ...feed, ...run }));
    await sql`insert into event_cuts ${sql({ account_id: accountId, mode, ...run, signature })}`;
  }
  await sql`delete from webhook_deliveries where event_id = any (${[...ids]}::uuid[])`;
  await sql`delete from events where id = any (${[...ids]}::uuid[])`;
}

/** The runs that these entries are in their feed. */
const findRuns = (
  sql: Transaction,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<Run[]> =>
  sql<Run[]>`
    with places as (
      select event.position, event.hash, chosen.id is not null as goes
        from events event left join unnest(${[...ids]}::uuid[]) chosen (id) on chosen.id = event.id
       where event.account_id = ${accountId} and event.mode = ${mode} and event.position is not null
       union all
      select position, hash, false from event_cuts where account_id = ${accountId} and mode = ${mode}
    ), entries as (
      select position, hash, goes, lead(goes) over (order by position) as next_goes,
             max(position) filter (where not goes) over (order by position) as after
        from places
    )
    select position::float8 as position, coalesce(after, 0)::float8 as after, hash
      from entries where goes and next_goes is not true
     order by position`;

const floorStatement = (place: ChainPlace): string => `ledger ${formatPlace(place)}`;

const cutStatement = ({ after, ...place }: AccountScope & Run): string =>
  `erased ${formatPlace(place)} ${after}`;

const formatPlace = ({ accountId, mode, position, hash }: ChainPlace): string =>
  [accountId, mode, position, hash.toString("hex")].join(" ");

/** Where a chain ends; `account` is null for the ledger of the installation. */
export type ChainEnd = { account: string | null; mode: string; position: number; hash: string };

/** A verified chain; `problem` is the first one, null for a chain that is whole. */
export type VerifiedChain = ChainEnd & { entries: number; problem: string | null };

/**
 * Verifies the chains one after another: of one account, or all. `known` are ends that they had
 * earlier, which must still be in them unless retention has deleted them since.
 */
export async function* verifyChains(
  sql: Sql,
  verifier: LogVerifier,
  account: Uuid | undefined,
  known: readonly ChainEnd[],
): AsyncGenerator<VerifiedChain, void, undefined> {
  const feeds = await sql<AccountScope[]>`
    select account_id as "accountId", mode from event_heads
     where ${account ?? null}::uuid is null or account_id = ${account ?? null}
     order by 1, 2`;
  const seen = new Set<string>();
  for (const feed of feeds) {
    const name = accountOf(feed);
    seen.add(`${name} ${feed.mode}`);
    const ends = known.filter((end) => end.account === name && end.mode === feed.mode);
    // All of it as it was at one moment, while events go on being recorded and deleted.
    yield await sql.begin("isolation level repeatable read read only", (transaction) =>
      new ChainCheck(transaction, feed, ends).run(verifier),
    );
  }
  for (const { account: name, mode, ...end } of known)
    if (!seen.has(`${name} ${mode}`) && account === undefined)
      yield { account: name, mode, entries: 0, ...end, problem: "The whole chain is missing." };
}

const accountOf = ({ accountId }: AccountScope): string | null =>
  accountId === INSTALLATION.accountId ? null : encodeId("acct", accountId);

/** Entries read at once: each can have as much data as an event may. */
const ENTRIES_AT_ONCE = 200;

class ChainCheck {
  readonly #sql: Transaction;
  readonly #feed: AccountScope;
  readonly #known: Map<number, string>;
  #entries = 0;
  #end: Place = { position: 0, hash: Buffer.alloc(0) };
  /** Its cuts, and how many of them are behind. */
  #cuts: Cut[] = [];
  #passed = 0;

  constructor(sql: Transaction, feed: AccountScope, known: readonly ChainEnd[]) {
    this.#sql = sql;
    this.#feed = feed;
    this.#known = new Map(known.map(({ position, hash }) => [position, hash]));
  }

  async run(verifier: LogVerifier): Promise<VerifiedChain> {
    const problem =
      (await this.#begin(verifier)) ?? (await this.#follow(verifier)) ?? (await this.#finish());
    return {
      account: accountOf(this.#feed),
      mode: this.#feed.mode,
      entries: this.#entries,
      position: this.#end.position,
      hash: this.#end.hash.toString("hex"),
      problem: problem ?? null,
    };
  }

  /** Reads where the chain begins; returns the problem with that. */
  async #begin(verifier: LogVerifier): Promise<string | undefined> {
    const floor = await readFloor(this.#sql, this.#feed);
    this.#cuts = await this.#readCuts(floor?.position ?? 0);
    if (floor === undefined) return undefined;
    this.#goTo(floor);
    return verifier.verifyText(floorStatement({ ...this.#feed, ...floor }), floor.signature ?? "")
      ? this.#requireKnown(this.#end)
      : `Nobody with the key deleted the entries up to ${floor.position}.`;
  }

  async #readCuts(after: number): Promise<Cut[]> {
    return await this.#sql<Cut[]>`
      select position::float8 as position, after::float8 as after, hash, signature from event_cuts
       where account_id = ${this.#feed.accountId} and mode = ${this.#feed.mode} and position > ${after}
       order by position`;
  }

  /** Goes on behind entries that are deleted: what was known of them is not looked for. */
  #goTo({ position, hash }: Place): void {
    this.#end = { position, hash };
    for (const known of this.#known.keys()) if (known < position) this.#known.delete(known);
  }

  /** Goes on behind what erasures have cut out up to a position; returns the first problem. */
  #passCuts(verifier: LogVerifier, before: number): string | undefined {
    for (
      let cut = this.#cuts[this.#passed];
      cut !== undefined && cut.position < before;
      cut = this.#cuts[this.#passed]
    ) {
      this.#passed++;
      if (this.#end.position < cut.after) return this.#describeMissing(cut.after);
      this.#goTo(cut);
      const problem = verifier.verifyText(cutStatement({ ...this.#feed, ...cut }), cut.signature)
        ? this.#requireKnown(this.#end)
        : `Nobody with the key erased the entries up to ${cut.position}.`;
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /** Follows the chain to its end; returns the first problem. */
  async #follow(verifier: LogVerifier): Promise<string | undefined> {
    for (;;) {
      const entries = await this.#readEntries();
      for (const { id, position, hash, text } of entries) {
        const cutProblem = this.#passCuts(verifier, position);
        if (cutProblem !== undefined) return cutProblem;
        const expected = createHash("sha256").update(this.#end.hash).update(text).digest();
        if (hash === null || !expected.equals(hash))
          return `${encodeId("event", id)} at ${position} was changed or added, or one between it and ${this.#end.position} was removed.`;
        this.#end = { position, hash };
        this.#entries++;
        const problem = this.#requireKnown(this.#end);
        if (problem !== undefined) return problem;
      }
      if (entries.length < ENTRIES_AT_ONCE) return this.#passCuts(verifier, Infinity);
    }
  }

  /** The next entries of the chain, with the texts that their hashes cover. */
  async #readEntries(): Promise<Entry[]> {
    return await this.#sql<Entry[]>`
      select id, position::float8 as position, hash, event_text(event, position) as text
        from events event
       where account_id = ${this.#feed.accountId} and mode = ${this.#feed.mode}
         and position > ${this.#end.position}
       order by position limit ${ENTRIES_AT_ONCE}`;
  }

  /** Compares the end with what is known of it. */
  async #finish(): Promise<string | undefined> {
    const [head] = await this.#sql<Place[]>`
      select position::float8 as position, hash from event_heads
       where account_id = ${this.#feed.accountId} and mode = ${this.#feed.mode}`;
    const [missing] = this.#known.keys();
    return head?.hash.equals(this.#end.hash) === true && missing === undefined
      ? undefined
      : this.#describeMissing(missing ?? head?.position);
  }

  #describeMissing(position: number | undefined): string {
    return `Entries after ${this.#end.position} were removed: there was one at ${position}.`;
  }

  /** The problem if an earlier verification has seen another hash at this position. */
  #requireKnown({ position, hash }: Place): string | undefined {
    const known = this.#known.get(position);
    this.#known.delete(position);
    return known === undefined || known === hash.toString("hex")
      ? undefined
      : `The chain up to ${position} has changed since an earlier verification.`;
  }
}

type Place = { position: number; hash: Buffer };

type ChainPlace = AccountScope & Place;

/** A run of entries that an erasure takes out: its last entry, and the position before it. */
type Run = Place & { after: number };

/** Where an erasure has cut a chain. */
type Cut = Run & { signature: string };

type Entry = { id: Uuid; position: number; hash: Buffer | null; text: string };

const findUnnumbered = (sql: Sql): Promise<AccountScope[]> =>
  sql<AccountScope[]>`
    with recursive feed as (
      (select account_id, mode from events where position is null order by account_id, mode limit 1)
      union all
      select next.* from feed cross join lateral (
        select account_id, mode from events
         where position is null and (account_id, mode) > (feed.account_id, feed.mode)
         order by account_id, mode limit 1) next
    )
    select account_id as "accountId", mode from feed limit ${FEEDS_MAX}`;

/** Where retention has left the beginning of a chain; undefined if it has deleted nothing. */
async function readFloor(
  sql: Transaction,
  { accountId, mode }: AccountScope,
): Promise<(Place & { signature: string | null }) | undefined> {
  const [row] = await sql<(Place & { signature: string | null })[]>`
    select position::float8 as position, hash, signature from event_floors
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}
