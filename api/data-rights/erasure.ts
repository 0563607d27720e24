/**
 * Erases an account, or clicks of it, everywhere at once, and proves it. The steps of an account:
 *
 * 1. It is suspended, everything is counted, and what the installation's ledger has of it erased.
 * 2. Its rows are deleted from PostgreSQL, but those that say that it exists.
 * 3. Redirector hosts take all links again. Two snapshots are made, as many as are kept, so that
 *    none with its links is left, and the tail is cut off behind them.
 * 4. Journals let go of what they have delivered, and workers store all that is in the stream.
 * 5. Its clicks are deleted from ClickHouse, and from the segments that NATS keeps.
 * 6. Its ledger is deleted and the proof written, in one transaction.
 *
 * Each step can be repeated, and a run that is killed is followed by another: until the last step
 * the account is there, suspended.
 */
import type { JetStreamManager, NatsConnection } from "nats";
import type { JSONValue } from "postgres";

import type { ClickHouse } from "../../shared/clicks/query.ts";
import { ACKED_RETENTION_MS } from "../../shared/contracts/click-segment.ts";
import { LIMITS_STREAM } from "../../shared/contracts/streams.ts";
import { decodeId, encodeId, type IdKind, type Uuid } from "../../shared/ids.ts";
import type { LogSigner } from "../../shared/links-log/signature.ts";
import { listSnapshots, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { pause } from "../../shared/timeout.ts";
import { AccountService } from "../accounts/service.ts";
import {
  type LinkLoss,
  lowerCounters,
  readFigures,
  retryDeadlock,
} from "../clicks/link-counters.ts";
import { eraseEntries, extendChain, hasChain } from "../events/chain.ts";
import { INSTALLATION, recordEvents } from "../events/record.ts";
import { type AccountScope, OPERATOR } from "../http/principal.ts";
import { SegmentPublisher } from "../imports/clicks.ts";
import { numberAll } from "../links-log/log.ts";
import { compareHostCounts, resyncHosts } from "../links-snapshots/hosts.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { AccountClicks } from "./clicks.ts";
import {
  type ClickRange,
  countEntries,
  countRows,
  deleteRows,
  deleteRuns,
  findClickEvents,
  findEmails,
  findOutside,
  findOwnedIds,
  findOwnUsers,
  findProof,
  findRuns,
  forgetEntries,
  hasAccount,
  liftTakedowns,
  listFirst,
  readInstallation,
} from "./sql.ts";
import {
  countInJournals,
  countInStreams,
  countLedgers,
  deleteLedgers,
  eraseFromStreams,
  type IsErased,
  listUnreadable,
} from "./streams.ts";
import { LAST_TABLES, OWNED_TABLES, type Owner } from "./tables.ts";

/** Journals are swept a moment after their segments may go. */
const JOURNALS_MS = ACKED_RETENTION_MS + 15_000;

/** After this time no worker writes counters that it read before the clicks were deleted. */
const COUNTERS_MS = 5_000;

/** Links of one statement. */
const LINKS_AT_ONCE = 500;

/** How long hosts may take to have the links of a snapshot, and how often they are asked. */
const HOSTS_MS = 60_000;
const HOSTS_POLL_MS = 1_000;

const MODES = ["live", "test"] as const;

/** The ids in a text. */
const IDS = /\b(acct|user|link|imp|key|dom)_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g;

/** What is deleted before the last tables. */
const FIRST_TABLES = OWNED_TABLES.filter(({ table }) => !LAST_TABLES.has(table));

const INSTALLATIONS_LEDGER = "events of the installation";

const ALL: ClickRange = { link: undefined, from: undefined, to: undefined };

/** A part of the work that takes long. */
type Note = (step: string) => void;

export class Erasure {
  readonly #sql: Sql;
  readonly #clickhouse: ClickHouse;
  readonly #nats: NatsConnection;
  readonly #signer: LogSigner;
  readonly #journals: readonly string[];
  readonly #signal: AbortSignal;
  readonly #note: Note;
  readonly #proof: Proof;

  /**
   * One erasure, which begins with `proof`. `sql` and `clickhouse` are the owner's, `journals` the
   * directories of redirectors on this host.
   */
  constructor(
    sql: Sql,
    clickhouse: ClickHouse,
    nats: NatsConnection,
    signer: LogSigner,
    journals: readonly string[],
    signal: AbortSignal,
    note: Note,
    proof: Proof,
  ) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
    this.#nats = nats;
    this.#signer = signer;
    this.#journals = journals;
    this.#signal = signal;
    this.#note = note;
    this.#proof = proof;
  }

  /**
   * Erases an account and everything of it; again for one that is gone, of which hosts that were
   * cut off may have brought clicks.
   */
  async eraseAccount(account: Uuid): Promise<void> {
    const isGone = !(await hasAccount(this.#sql, account));
    if (isGone && !(await hasChain(this.#sql, account)))
      throw new Error("The account does not exist.");
    if (isGone) this.#proof.earlier = await findProof(this.#sql, encodeId("acct", account));
    await new AccountService(this.#sql).suspend(account, undefined);
    const owner: Owner = { account, users: await findOwnUsers(this.#sql, account) };
    const { hosts, ledgers } = await findOutside(this.#sql, account);
    const clicks = new AccountClicks(this.#clickhouse, account, ALL, hosts);
    const isErased: IsErased = ({ accountId }) => accountId === account;
    this.#note("counting");
    for (const table of OWNED_TABLES)
      this.#proof.set("before", { [table.table]: await countRows(this.#sql, table, owner) });
    await this.#countClicks("before", clicks, isErased);
    this.#proof.set("before", { [LIMITS_STREAM]: await countLedgers(this.#nats, ledgers) });
    await this.#eraseInstallationEntries(owner, hosts);
    this.#note("deleting the rows of PostgreSQL");
    await this.#deleteRows(owner);
    // Hosts have none of its links since it is gone.
    if (!isGone) await this.#replaceLinks();
    await this.#settle();
    this.#note("erasing clicks");
    await clicks.erase();
    this.#proof.set("before", await eraseFromStreams(this.#nats, isErased));
    await deleteLedgers(this.#nats, ledgers);
    await this.#deleteRows(owner);
    for (const table of FIRST_TABLES)
      this.#proof.set("after", { [table.table]: await countRows(this.#sql, table, owner) });
    await this.#countClicks("after", clicks, isErased);
    this.#proof.set("after", { [LIMITS_STREAM]: await countLedgers(this.#nats, ledgers) });
    await this.#finish(owner);
  }

  /** Erases clicks of an account: of a link, of whole days (UTC), or both. */
  async eraseClicks(account: Uuid, range: ClickRange): Promise<void> {
    if (!(await hasAccount(this.#sql, account))) throw new Error("The account does not exist.");
    const clicks = new AccountClicks(this.#clickhouse, account, range, []);
    const [from, to] = [range.from?.getTime() ?? -Infinity, range.to?.getTime() ?? Infinity];
    // Clicks of a link that come meanwhile are none of these.
    const until = Math.min(to, this.#proof.begunAt.getTime());
    const isErased: IsErased = ({ accountId, linkId, time }) =>
      accountId === account &&
      (range.link === undefined || linkId === range.link) &&
      time >= from &&
      time < until;
    const earlier = { ...range, to: new Date(until) };
    await this.#countClicks("before", clicks, isErased);
    await this.#settle();
    const runs = await findRuns(this.#sql, account, range);
    for (const mode of MODES) await extendChain(this.#sql, { accountId: account, mode });
    const events = await this.#findClickEvents(this.#sql, account, earlier);
    this.#proof.set("before", { report_runs: runs.length, events: countIds(events) });
    this.#note("erasing clicks");
    const losses = await clicks.readLosses();
    await clicks.erase();
    this.#proof.set("before", await eraseFromStreams(this.#nats, isErased));
    await this.#countClicks("after", clicks, isErased, this.#proof.begunAt);
    await pause(COUNTERS_MS, this.#signal);
    await this.#lowerCounters(losses, range);
    await this.#sql.begin(async (sql) => {
      for (const { feed, ids } of events) await eraseEntries(sql, this.#signer, feed, ids);
      await deleteRuns(sql, runs);
      this.#proof.set("after", {
        report_runs: (await findRuns(sql, account, range)).length,
        events: countIds(await this.#findClickEvents(sql, account, earlier)),
      });
      await this.#record(sql, { accountId: account, mode: "live" }, "accounts erase-clicks", {
        link: range.link === undefined ? null : encodeId("link", range.link),
        from: range.from?.toISOString() ?? null,
        to: range.to?.toISOString() ?? null,
      });
    });
  }

  async #deleteRows(owner: Owner): Promise<void> {
    await liftTakedowns(this.#sql, owner.account);
    for (const table of FIRST_TABLES)
      while ((await retryDeadlock(() => deleteRows(this.#sql, table, owner))) > 0)
        this.#signal.throwIfAborted();
  }

  /** Makes all hosts take links again, so that none has those of the account. */
  async #replaceLinks(): Promise<void> {
    const traces = await LinkTraces.note(this.#sql, this.#nats, this.#signer);
    this.#proof.set("before", await traces.count());
    this.#note("making two snapshots of the links, which all hosts take");
    await traces.replace();
    const deadline = performance.now() + HOSTS_MS;
    for (;;) {
      const problem = await compareHostCounts(this.#sql, this.#nats);
      const left = await traces.count();
      this.#proof.set("after", left);
      if (problem === undefined && Object.values(left).every((count) => count === 0)) return;
      if (performance.now() > deadline) {
        if (problem !== undefined) this.#proof.left.push({ what: problem, until: "they have" });
        return;
      }
      await pause(HOSTS_POLL_MS, this.#signal);
    }
  }

  /** Waits until no journal has delivered clicks, and all that is in the stream is stored. */
  async #settle(): Promise<void> {
    this.#note(`waiting ${JOURNALS_MS / 1_000} s for the journals of redirectors`);
    await pause(JOURNALS_MS, this.#signal);
    this.#note("waiting until workers have stored what is in CLICKS");
    await new SegmentPublisher(this.#nats, this.#signal).drain();
  }

  /** With `until`, only clicks before it: those of a link go on. */
  async #countClicks(
    when: "before" | "after",
    clicks: AccountClicks,
    isErased: IsErased,
    until?: Date,
  ): Promise<void> {
    for (const [table, count] of Object.entries(await clicks.count(until)))
      this.#proof.set(when, { [`ClickHouse ${table}`]: count });
    // What they had is counted as it is erased.
    if (when === "after") this.#proof.set(when, await countInStreams(this.#nats, isErased));
    if (this.#journals.length > 0)
      this.#proof.set(when, { journals: countInJournals(this.#journals, isErased) });
    const unreadable = when === "before" ? [] : listUnreadable(this.#journals);
    if (unreadable.length > 0)
      this.#proof.left.push({ what: unreadable.join(", "), until: "you restore or delete them" });
  }

  /**
   * Erases what the ledger of the installation has about the account and its users, while it is
   * known who they are.
   */
  async #eraseInstallationEntries(owner: Owner, hosts: readonly string[]): Promise<void> {
    const emails = await findEmails(this.#sql, owner.users);
    const words = [...emails, ...hosts].map((word) => JSON.stringify(word));
    const found: Uuid[] = [];
    await extendChain(this.#sql, INSTALLATION);
    for await (const entries of readInstallation(this.#sql)) {
      const named = entries.map(({ id, text }) => ({ id, text, ids: idsIn(text) }));
      const all = named.flatMap(({ ids }) => ids);
      const owned = await findOwnedIds(this.#sql, owner, all);
      for (const { id, text, ids } of named)
        if (ids.some((one) => owned.has(one)) || words.some((word) => text.includes(word)))
          found.push(id);
    }
    await this.#sql.begin((sql) => eraseEntries(sql, this.#signer, INSTALLATION, found));
    this.#proof.set("before", { [INSTALLATIONS_LEDGER]: found.length });
    this.#proof.set("after", { [INSTALLATIONS_LEDGER]: 0 });
  }

  /** Deletes the last rows, and writes the proof with them. */
  async #finish(owner: Owner): Promise<void> {
    for (const mode of MODES) await this.#eraseFeed({ accountId: owner.account, mode });
    await this.#sql.begin(async (sql) => {
      for (const table of OWNED_TABLES.filter(({ table }) => LAST_TABLES.has(table))) {
        if (table.table === "accounts") await deleteRows(sql, table, owner);
        this.#proof.set("after", { [table.table]: await countRows(sql, table, owner) });
      }
      await this.#record(sql, INSTALLATION, "accounts erase", {
        account: encodeId("acct", owner.account),
      });
    });
  }

  /** Erases a ledger: what is signed of its chain stays. */
  async #eraseFeed(feed: AccountScope): Promise<void> {
    for (let ids: Uuid[] | undefined; ids?.length !== 0;) {
      await extendChain(this.#sql, feed);
      ids = await this.#sql.begin(async (sql) => {
        const first = await listFirst(sql, feed);
        await eraseEntries(sql, this.#signer, feed, first);
        return first;
      });
    }
  }

  /** Entries with such clicks, by feed. */
  async #findClickEvents(
    sql: Sql | Transaction,
    account: Uuid,
    range: ClickRange,
  ): Promise<FeedEntries[]> {
    const link = range.link === undefined ? undefined : encodeId("link", range.link);
    const found: FeedEntries[] = [];
    for (const mode of MODES) {
      const feed = { accountId: account, mode };
      found.push({ feed, ids: await findClickEvents(sql, feed, link, range) });
    }
    return found;
  }

  /** A link of which all is erased has what is left of it, else it has lost what was counted. */
  async #lowerCounters(losses: readonly LinkLoss[], { from }: ClickRange): Promise<void> {
    for (let i = 0; i < losses.length; i += LINKS_AT_ONCE) {
      const some = losses.slice(i, i + LINKS_AT_ONCE);
      const figures = await readFigures(
        this.#clickhouse,
        some.map(({ link_id }) => link_id),
      );
      const lost = from === undefined ? some.map(withoutRest) : some;
      await retryDeadlock(() => lowerCounters(this.#sql, lost, figures));
    }
  }

  #record(
    sql: Transaction,
    feed: AccountScope,
    command: string,
    of: Record<string, string | null>,
  ): Promise<void> {
    const data = { command, ...of, ...this.#proof.toJson() };
    const event = { type: "operator.command", objectId: null, data } as const;
    return recordEvents(sql, { ...feed, actor: OPERATOR }, [event]);
  }
}

type FeedEntries = { feed: AccountScope; ids: Uuid[] };

const countIds = (found: readonly FeedEntries[]): number =>
  found.reduce((sum, { ids }) => sum + ids.length, 0);

const idsIn = (text: string): Uuid[] =>
  [...text.matchAll(IDS)].flatMap(([id, kind]) => decodeId(kind as IdKind, id) ?? []);

/** Counters alone have clicks whose rollups have expired. */
const withoutRest = (loss: LinkLoss): LinkLoss => ({
  ...loss,
  humans: Number.MAX_SAFE_INTEGER,
  bots: Number.MAX_SAFE_INTEGER,
});

/** What an erasure does not reach, and how long that lasts at most. */
export type Left = { what: string; until: string };

/** Counts before and after, by the name of what was counted. */
export class Proof {
  readonly begunAt = new Date();
  readonly left: Left[] = [];
  /** The proof of the run after which the account was gone, if there was one. */
  earlier: JSONValue | undefined;
  readonly #counts = new Map<string, { before: number; after?: number }>();

  /** Notes what was counted. */
  set(when: "before" | "after", counts: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(counts))
      this.#counts.set(name, { before: 0, ...this.#counts.get(name), [when]: count });
  }

  /** The names of what is not gone. */
  get remaining(): string[] {
    return [...this.#counts].flatMap(([name, { after }]) => (after === 0 ? [] : [name]));
  }

  toJson() {
    return {
      begun_at: this.begunAt.toISOString(),
      counts: Object.fromEntries(
        [...this.#counts].map(([name, { before, after }]) => [name, [before, after ?? null]]),
      ),
      left: this.left,
    } satisfies JSONValue;
  }
}

// What the links log has of links: entries and states in PostgreSQL, the tail and the snapshots in
// NATS. An erasure deletes what there is of them, of all accounts: hosts take all links again.

/** As many as are kept. */
const SNAPSHOTS_MADE = 2;

class LinkTraces {
  readonly #sql: Sql;
  readonly #manager: JetStreamManager;
  readonly #signer: LogSigner;
  /** The last entry in PostgreSQL, that of the tail, and the snapshots, when they were noted. */
  readonly #position: number;
  readonly #sequence: number;
  readonly #snapshots: ReadonlySet<string>;

  private constructor(
    sql: Sql,
    manager: JetStreamManager,
    signer: LogSigner,
    noted: { position: number; sequence: number; snapshots: ReadonlySet<string> },
  ) {
    this.#sql = sql;
    this.#manager = manager;
    this.#signer = signer;
    this.#position = noted.position;
    this.#sequence = noted.sequence;
    this.#snapshots = noted.snapshots;
  }

  /** Notes what there is now. */
  static async note(sql: Sql, nats: NatsConnection, signer: LogSigner): Promise<LinkTraces> {
    const manager = await nats.jetstreamManager();
    const { position } = await numberAll(sql);
    const snapshots = await listSnapshots(manager, signer);
    const { state } = await manager.streams.info(LINK_LOG_STREAM);
    return new LinkTraces(sql, manager, signer, {
      position,
      sequence: state.last_seq,
      snapshots: new Set(snapshots.map(({ name }) => name)),
    });
  }

  /**
   * Ends the history that hosts have, as often as snapshots are kept; with each snapshot the API
   * cuts the tail off behind the older of these.
   */
  async replace(): Promise<void> {
    for (let i = 0; i < SNAPSHOTS_MADE; i++)
      await resyncHosts(this.#sql, this.#manager, this.#signer);
  }

  /** Forgets the entries in PostgreSQL, and counts what is left of what was noted. */
  async count(): Promise<Record<string, number>> {
    await forgetEntries(this.#sql, this.#position);
    const { state } = await this.#manager.streams.info(LINK_LOG_STREAM);
    const stored = await listSnapshots(this.#manager, this.#signer);
    return {
      link_log: await countEntries(this.#sql, this.#position),
      [LINK_LOG_STREAM]: Math.max(0, this.#sequence - state.first_seq + 1),
      [SNAPSHOTS_STREAM]: stored.filter(({ name }) => this.#snapshots.has(name)).length,
    };
  }
}
