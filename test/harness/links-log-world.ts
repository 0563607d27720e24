/**
 * A simulated world around the decisions of the links log: PostgreSQL, the tail in NATS, snapshots,
 * two API processes that publish, and two hosts that follow. An event is one step of one of them,
 * or something that comes back older, damaged or not at all. Whatever happened, the world then
 * settles, and every host must equal PostgreSQL.
 */
import {
  advance,
  advanceEnd,
  type Candidate,
  comparePositions,
  decideStep,
  decodeEntry,
  EMPTY_HEAD,
  EMPTY_STORE,
  type Entry,
  hashOf,
  type Head,
  HEARTBEAT_MS,
  isCurrent,
  isHeartbeatDue,
  judgeCandidate,
  lacksEntries,
  NO_HASH,
  planPublication,
  planTerm,
  type Position,
  type StoreState,
  type TailEnd,
} from "../../shared/links-log/entries.ts";
import {
  chooseSnapshot,
  decodeManifest,
  encodeManifest,
  firstKept,
  type Manifest,
  SNAPSHOTS_KEPT,
} from "../../shared/links-log/snapshots.ts";
import { encodeEntry } from "./links-log.ts";
import { createRandom, type Random } from "./random.ts";

const DATABASE = "01936000-0000-7000-8000-000000000001";
const OTHER_DATABASE = "01936000-0000-7000-8000-000000000002";

/** What the first entry follows. */
const START = hashOf(Buffer.from("start"));

/** A store without entries. It knows its database: an empty one takes any that it meets first. */
const EMPTY: StoreState = { ...EMPTY_STORE, database: DATABASE };

/** The store of a host that took a snapshot before the first link. */
const FIRST: StoreState = { ...EMPTY, head: { ...EMPTY_HEAD, hash: START } };

/** The key of the list of takedowns; those before it are links. */
const TAKEDOWNS = 3;
const KEYS = [0, 1, 2, TAKEDOWNS];

const HOUR = 3_600;

/** Steps in which a snapshot is certainly made. */
const BUILD_STEPS = 8;

/** Messages of strangers that a publisher passes over. */
const STRANGERS_MAX = 3;

/** Rounds within which all hosts must equal PostgreSQL. */
const ROUNDS_MAX = 12;

/** What the world decides with. Mutations replace some of it. */
export const RULES = {
  decideStep,
  advanceEnd,
  isCurrent,
  judgeCandidate,
  planPublication,
  planTerm,
  firstKept,
  hashOf,
  /** Whether PostgreSQL is read before the last message of the tail. */
  readsPostgresFirst: false,
  /** Whether messages that nobody signed count as if they were not there. */
  verifies: true,
  /** Whether heartbeats are messages beside the log. */
  heartbeatsOutside: false,
  /** Whether later states are written to a store of another history. */
  writesOldStore: true,
  /** Whether a new term begins with the takedowns. */
  repeatsTakedowns: true,
  /** Whether only the last state of each link that waits is numbered. */
  coalesces: true,
};
export type Rules = typeof RULES;

/** A violated guarantee. */
export class Violation extends Error {
  override name = "Violation";
}

type Commit = { parent: number; key: number; deleted: boolean; acknowledged: boolean };

type Row = Entry & { bytes: Uint8Array; commits: readonly number[] };

/** PostgreSQL, which is replaced by each change: so any moment of it can come back. */
type Postgres = {
  term: number;
  head: Head;
  acknowledged: Position | undefined;
  rows: readonly Row[];
  /** Commits in the outbox. */
  waiting: readonly number[];
  links: ReadonlyMap<number, number>;
  tip: number;
};

type Message = { sequence: number; bytes: Uint8Array; announced: Position; isSigned: boolean };

type Snapshot = { manifest: Manifest; links: ReadonlyMap<number, number> };

/** NATS, of which any moment can come back as well. */
type Nats = {
  messages: readonly Message[];
  lastSequence: number;
  snapshots: readonly { manifest: Uint8Array; links: ReadonlyMap<number, number> }[];
};

/** How far a publisher is; it may pause, or die, before any of these. */
type Publisher =
  | { at: "idle" }
  | { at: "last"; postgres: number; acknowledged: Position | undefined; view: Postgres }
  | {
      at: "plan";
      postgres: number;
      acknowledged: Position | undefined;
      view: Postgres;
      nats: number;
      sequence: number;
      last: Head | "empty" | "foreign";
    }
  | {
      at: "publish";
      postgres: number;
      nats: number;
      sequence: number;
      rows: readonly Row[];
      announced: Position;
      done: Position | undefined;
    };

type Builder = {
  postgres: number;
  start: Head;
  links: Map<number, number>;
  left: number[];
  end: Head | undefined;
};

/** A snapshot that a host has downloaded, with the entries after it. */
type Downloaded = {
  state: Candidate;
  /** The end of the snapshot. */
  awaited: Head;
  links: Map<number, number>;
  read: number;
  end: TailEnd | undefined;
  name: string;
};

class Host {
  store: StoreState = { ...FIRST, written: FIRST.head };
  links = new Map<number, number>();
  saved: { store: StoreState; links: Map<number, number> } | undefined;
  /** The connection to NATS; the last sequences of it and of the mirror when it began to read. */
  session = 0;
  began = 0;
  since = 0;
  /** The last sequence that was read. */
  read = 0;
  /** The last sequence that the mirror has; Infinity without a mirror. */
  visible = Infinity;
  candidate: Downloaded | undefined;
  /** The last message that was read. */
  end: TailEnd | undefined;
  /** Snapshots that were of no use. */
  readonly dropped = new Set<string>();
  /** The latest state of each link that visitors saw, of PostgreSQL's history. */
  best = new Map<number, number>();
}

const decoded = new WeakMap<Uint8Array, { entry: Entry | undefined }>();

export class World {
  readonly #rules: Rules;
  #now = 10 * HOUR;
  #clock = 0;
  readonly #commits: Commit[] = [{ parent: 0, key: -1, deleted: false, acknowledged: false }];
  #pg: Postgres = {
    term: 1,
    head: { term: 1, position: 0, hash: START },
    acknowledged: undefined,
    rows: [],
    waiting: [],
    links: new Map(),
    tip: 0,
  };
  /** The hash of the entry before each entry. */
  readonly #previous = new Map<string, string>();
  #savedPg: Postgres[] = [];
  /** Grows when PostgreSQL comes back older, which ends all connections. */
  #postgresSession = 0;
  #nats: Nats = { messages: [], lastSequence: 0, snapshots: [] };
  #savedNats: Nats[] = [];
  #natsSession = 0;
  readonly #publishers: Publisher[] = [{ at: "idle" }, { at: "idle" }];
  /** The last entry that each of them has seen acknowledged, also before PostgreSQL came back. */
  readonly #remembered: (Position | undefined)[] = [];
  #builder: Builder | undefined;
  /** Number of snapshots so far, which are not made of files. */
  #built = 0;
  #wantsSnapshot = false;
  /** Whether nothing was lost: neither by PostgreSQL nor by the tail, nor by hosts. */
  #isWhole = true;
  readonly #hosts = [new Host(), new Host()] as const;
  /** What happened, for a failure's message. */
  readonly trace: string[] = [];

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Lets something happen; the number says what. */
  run(event: number): void {
    const random = createRandom(event);
    this.#now += random.between(1, 30);
    const host = random.pick(this.#hosts);
    const kind = random.between(1, 100);
    if (kind <= 20) this.#commit(random.pick(KEYS as [number]), random.between(1, 4) === 1);
    else if (kind <= 48) this.#publish(random);
    else if (kind <= 66) this.#follow(host, random.between(1, 8), random);
    else if (kind <= 74) this.#build();
    else if (kind <= 78) this.#ask(host);
    else if (kind <= 81) this.#truncate();
    else if (kind <= 82) this.#passHour();
    else if (kind <= 85) this.#restart(host, random);
    else if (kind <= 90) this.#save(random);
    else if (kind <= 96) this.#lose(random);
    else if (kind <= 98) this.#intrude(random);
    else this.#clock = random.pick([0, -HOUR, HOUR]);
  }

  /** Settles, and throws a {@link Violation} unless every host then equals PostgreSQL. */
  settle(): void {
    const random = createRandom(this.#now);
    // Without any change, whatever happened to the last one.
    this.#publishAll(random);
    const { head } = this.#pg;
    this.#publishAll(random);
    if (this.#pg.head.hash === head.hash) throw this.#violation("heartbeats have stopped");
    // No snapshot can be had: what is taken down now is taken down on all hosts nevertheless.
    this.#commit(TAKEDOWNS, false);
    for (let round = 0; round < ROUNDS_MAX / 2; round++) this.#settleOnce(random, false);
    for (const [i, host] of this.#hosts.entries())
      if (host.links.get(TAKEDOWNS) !== this.#pg.links.get(TAKEDOWNS))
        throw this.#violation(`host ${i} does not take down`);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      this.#settleOnce(random, true);
      if (this.#hosts.every((host) => this.#isSettled(host))) break;
    }
    for (const [i, host] of this.#hosts.entries()) {
      if (!this.#isSettled(host)) throw this.#violation(`host ${i} does not settle`);
      for (const key of KEYS)
        if (host.links.get(key) !== this.#pg.links.get(key))
          throw this.#violation(`host ${i} has another link ${key}`);
    }
    if (this.#isWhole && this.#pg.term > 1)
      throw this.#violation("a term was raised for no reason");
  }

  #isSettled(host: Host): boolean {
    return this.#isCurrent(host) && host.store.head.hash === this.#pg.head.hash;
  }

  #settleOnce(random: Random, withSnapshots: boolean): void {
    this.#now += 10;
    const steps = withSnapshots && this.#wantsSnapshot ? BUILD_STEPS : 0;
    for (let step = 0; step < steps; step++) {
      this.#build();
      this.#publishAll(random);
    }
    this.#publishAll(random);
    for (const host of this.#hosts) {
      this.#follow(host, Infinity, withSnapshots ? random : undefined);
      this.#ask(host);
    }
  }

  #kill(index: number): void {
    this.#publishers[index] = { at: "idle" };
    this.#remembered[index] = undefined;
  }

  #killPublishers(): void {
    for (const index of this.#publishers.keys()) this.#kill(index);
  }

  /** A publisher takes all steps, and nothing fails. */
  #publishAll(random: Random): void {
    this.#killPublishers();
    do this.#takeStep(0, random, false);
    while (this.#publishers[0]?.at !== "idle");
  }

  #commit(key: number, deleted: boolean): void {
    const id = this.#commits.length;
    this.#commits.push({ parent: this.#pg.tip, key, deleted, acknowledged: false });
    this.#pg = {
      ...this.#pg,
      links: new Map(this.#pg.links).set(key, id),
      waiting: [...this.#pg.waiting, id],
      tip: id,
    };
    this.trace.push(`commit ${id} of ${key}${deleted ? " (deleted)" : ""}`);
  }

  /**
   * As the SQL function: moves what waits into the log, above a term if there is one. A new term
   * begins with the takedowns, for hosts that skipped them in the term before.
   */
  #number(above: number | undefined, heartbeat: boolean): void {
    let { term, head } = this.#pg;
    const { rows } = this.#pg;
    const isRaised = above !== undefined && term <= above;
    if (isRaised) term = above + 1;
    const repeats = isRaised && this.#rules.repeatsTakedowns;
    const takedowns = repeats ? this.#pg.links.get(TAKEDOWNS) : undefined;
    const states = [...this.#pg.waiting, ...(takedowns === undefined ? [] : [takedowns])];
    // Of each link the last one: earlier ones may have been published before PostgreSQL came back.
    const last = new Map(states.map((id) => [this.#commitOf(id).key, id]));
    const waiting = this.#rules.coalesces ? [...last.values()] : states;
    const added: Row[] = [];
    const add = (commits: readonly number[]): void => {
      const row = this.#toRow(term, head, commits);
      added.push(row);
      head = { term, position: row.position, hash: row.hash };
    };
    for (let i = 0; i < waiting.length; i += 2) add(waiting.slice(i, i + 2));
    if (added.length === 0 && (isRaised || heartbeat)) add([]);
    this.#pg = { ...this.#pg, term, head, waiting: [], rows: [...rows, ...added] };
    if (added.length > 0) this.trace.push(`numbered to ${name(head)}`);
  }

  #toRow(term: number, head: Head, commits: readonly number[]): Row {
    const position = Math.max(head.position + 1, this.#now + this.#clock);
    const header = { database: DATABASE, term, position, previous: head.hash };
    const states = commits.map((id) => Buffer.from(String(id)));
    const bytes = encodeEntry(header, states);
    const hash = this.#hashOf(position, bytes);
    this.#previous.set(hash, head.hash);
    return { ...header, hash, states, bytes, commits };
  }

  #hashOf(position: number, bytes: Uint8Array): string {
    return this.#rules.hashOf === hashOf
      ? hashOf(bytes)
      : this.#rules.hashOf(Buffer.from(String(position)));
  }

  #decode(message: Message): Entry | undefined {
    return this.#isThere(message) ? this.#decodeBytes(message.bytes) : undefined;
  }

  #isThere({ isSigned }: Message): boolean {
    return isSigned || !this.#rules.verifies;
  }

  #decodeBytes(bytes: Uint8Array): Entry | undefined {
    const known = decoded.get(bytes);
    if (known !== undefined) return known.entry;
    let entry = decodeEntry(bytes);
    if (entry !== undefined) entry = { ...entry, hash: this.#hashOf(entry.position, bytes) };
    decoded.set(bytes, { entry });
    return entry;
  }

  #publish(random: Random): void {
    const index = random.between(0, 1);
    if (random.between(1, 12) === 1) {
      this.#kill(index);
      this.trace.push(`publisher ${index} dies`);
      return;
    }
    for (let steps = random.between(1, 8); steps > 0; steps--) this.#takeStep(index, random, true);
  }

  #takeStep(index: number, random: Random, mayFail: boolean): void {
    const publisher = this.#publishers[index] ?? { at: "idle" };
    this.#publishers[index] = this.#nextStep(index, publisher, random, mayFail ? 10 : Infinity);
  }

  #nextStep(index: number, publisher: Publisher, random: Random, fails: number): Publisher {
    const postgres = this.#postgresSession;
    if (publisher.at === "idle") {
      const acknowledged = (this.#remembered[index] ??= this.#pg.acknowledged);
      return { at: "last", postgres, acknowledged, view: this.#pg };
    }
    if (publisher.at === "publish") {
      const next = this.#publishNext(publisher, random, fails);
      const { done } = publisher;
      if (next.at === "idle") this.#remembered[index] = laterOf(this.#remembered[index], done);
      return next;
    }
    // A connection to PostgreSQL does not survive that it comes back older.
    if (publisher.postgres !== postgres) return { at: "idle" };
    if (publisher.at === "last") {
      const { last, sequence } = this.#readLast();
      return { ...publisher, at: "plan", nats: this.#natsSession, sequence, last };
    }
    return this.#plan(publisher);
  }

  /** The last message of the tail; beside the log, heartbeats are not its last entry. */
  #readLast(): { last: Head | "empty" | "foreign"; sequence: number } {
    const { messages, lastSequence: sequence } = this.#nats;
    const entries = this.#rules.heartbeatsOutside
      ? messages.filter((message) => this.#decode(message) !== undefined)
      : messages;
    const strangers = this.#countStrangers();
    if (strangers >= STRANGERS_MAX) return { last: "foreign", sequence };
    const message = entries.at(-1 - strangers);
    if (message === undefined) return { last: "empty", sequence };
    const entry = this.#decode(message);
    return { last: entry?.database === DATABASE ? entry : "foreign", sequence };
  }

  /** The number of messages of strangers at the end of the tail. */
  #countStrangers(): number {
    const { messages } = this.#nats;
    return messages.length - 1 - messages.findLastIndex((message) => this.#isThere(message));
  }

  #plan(publisher: Publisher & { at: "plan" }): Publisher {
    const { postgres, nats, sequence, last, acknowledged, view } = publisher;
    const isDue = isHeartbeatDue(this.#pg.head, this.#pg.acknowledged, HEARTBEAT_MS, false);
    this.#number(undefined, isDue && !this.#rules.heartbeatsOutside);
    const { rows: knownRows } = this.#rules.readsPostgresFirst ? view : this.#pg;
    const hash = typeof last === "string" ? undefined : last.hash;
    const isKnown = knownRows.some((row) => row.hash === hash);
    const { term } = this.#pg;
    const plan = this.#rules.planPublication(acknowledged, last, { term, isKnown });
    if (plan.above !== undefined) this.#number(plan.above, false);
    const { rows } = this.#pg;
    const from = {
      first: () => 0,
      last: () => rows.findIndex((row) => row.hash === hash) + 1,
      unacknowledged: () =>
        rows.filter((row) => comparePositions(row, this.#pg.acknowledged ?? EMPTY_HEAD) <= 0)
          .length,
    }[plan.from]();
    const announced = this.#pg.head;
    return {
      at: "publish",
      postgres,
      nats,
      sequence,
      rows: rows.slice(from),
      announced,
      // Another process has published it, or its acknowledgement was lost.
      done: plan.from === "last" && typeof last !== "string" ? last : undefined,
    };
  }

  #publishNext(publisher: Publisher & { at: "publish" }, random: Random, fails: number) {
    const { rows, announced, sequence, nats, postgres, done } = publisher;
    const [row, ...others] = rows;
    if (row === undefined) {
      if (postgres === this.#postgresSession) this.#acknowledge(done);
      if (this.#rules.heartbeatsOutside && nats === this.#natsSession)
        this.#append(Buffer.from("heartbeat"), announced);
      return { at: "idle" } as const;
    }
    // What waits to be sent does not survive the connection.
    const isExpected = nats === this.#natsSession && sequence === this.#nats.lastSequence;
    if (!isExpected) return { at: "idle" } as const;
    this.#append(row.bytes, announced);
    this.trace.push(`published ${name(row)} of ${name(announced)}`);
    if (Number.isFinite(fails) && random.between(1, fails) === 1) {
      this.trace.push("its acknowledgement is lost");
      return { at: "idle" } as const;
    }
    for (const id of row.commits) this.#commitOf(id).acknowledged = true;
    const { term, position } = row;
    return { ...publisher, rows: others, sequence: sequence + 1, done: { term, position } };
  }

  #acknowledge(done: Position | undefined): void {
    const { acknowledged } = this.#pg;
    if (done === undefined) return;
    if (acknowledged !== undefined && comparePositions(done, acknowledged) <= 0) return;
    this.#pg = { ...this.#pg, acknowledged: done };
  }

  #append(bytes: Uint8Array, announced: Position, isSigned = true): void {
    const { messages, lastSequence } = this.#nats;
    const sequence = lastSequence + 1;
    this.#nats = {
      ...this.#nats,
      messages: [...messages, { sequence, bytes, announced, isSigned }],
      lastSequence: sequence,
    };
  }

  /** A host reads messages; without `random` it takes no snapshot. */
  #follow(host: Host, limit: number, random: Random | undefined): void {
    if (host.session !== this.#natsSession) {
      host.session = this.#natsSession;
      host.began = this.#nats.lastSequence;
      host.since = Math.min(host.visible, host.began);
      host.read = 0;
      host.end = undefined;
      if (host.candidate !== undefined) Object.assign(host.candidate, { read: 0, end: undefined });
    }
    host.visible += Number.isFinite(limit) ? Math.floor(limit / 3) : Infinity;
    for (const { entry, message } of this.#messagesAfter(host, host.read, limit)) {
      host.read = message.sequence;
      host.end = this.#nextEnd(host, host.end, host.store, message);
      if (entry !== undefined) this.#step(host, entry);
    }
    if (random !== undefined) this.#followWithCandidate(host, limit);
    // At a mirror that lags, an old entry looks as if it were published now.
    const { lastSequence } = this.#nats;
    const hasNew = host.since === host.began || lastSequence > host.began;
    if (hasNew && host.visible >= lastSequence) this.#checkUnknown(host);
  }

  #messagesAfter({ visible }: Host, read: number, limit: number) {
    const { messages } = this.#nats;
    const start = messages.findLastIndex(({ sequence }) => sequence <= read) + 1;
    const end = Math.min(start + limit, this.#lastVisible(visible) + 1);
    return messages.slice(start, end).map((message) => ({ message, entry: this.#decode(message) }));
  }

  #nextEnd(
    { since }: Host,
    end: TailEnd | undefined,
    store: StoreState,
    message: Message,
  ): TailEnd | undefined {
    if (!this.#isThere(message)) return end;
    const { announced, sequence } = message;
    const isLater = sequence > since;
    const hash = this.#decode(message)?.hash;
    // A heartbeat beside the log.
    if (hash === undefined) return { hash, announced, isNew: isLater };
    const isRepeated = hash === store.head.hash;
    return this.#rules.advanceEnd(end, { hash, announced }, { isLater, isRepeated });
  }

  /** The index of the last message up to a sequence. */
  #lastVisible(visible: number): number {
    return this.#nats.messages.findLastIndex(({ sequence }) => sequence <= visible);
  }

  #step(host: Host, entry: Entry): void {
    const step = this.#rules.decideStep(host.store, entry);
    host.store = advance(host.store, entry, step);
    if (step === "skip" || step === "refuse") return;
    this.trace.push(`host ${this.#hosts.indexOf(host)}: ${step} ${name(entry)}`);
    if (step === "overwrite" && !this.#rules.writesOldStore) return;
    // One transaction: of several states of a link visitors see the last one.
    const last = new Map(entry.states.map((state) => [this.#keyOf(state), this.#idOf(state)]));
    for (const id of last.values()) this.#serve(host, id, entry.hash);
  }

  #followWithCandidate(host: Host, limit: number): void {
    if (!lacksEntries(host.store)) {
      host.candidate = undefined;
      return;
    }
    host.candidate ??= this.#download(host);
    const { candidate } = host;
    if (candidate === undefined) return;
    for (const { entry, message } of this.#messagesAfter(host, candidate.read, limit)) {
      candidate.read = message.sequence;
      candidate.end = this.#nextEnd(host, candidate.end, candidate.state.store, message);
      if (entry === undefined) continue;
      const step = this.#rules.decideStep(candidate.state.store, entry);
      const store = advance(candidate.state.store, entry, step);
      const hasEnd = candidate.state.hasEnd || store.head.hash === candidate.awaited.hash;
      candidate.state = { store, hasEnd };
      if (step !== "apply") continue;
      for (const state of entry.states) candidate.links.set(this.#keyOf(state), this.#idOf(state));
    }
    const end = this.#endFor(host, candidate);
    const verdict = this.#rules.judgeCandidate(candidate.state, host.store, end);
    if (verdict === "follow") return;
    host.candidate = undefined;
    if (verdict === "drop") return void host.dropped.add(candidate.name);
    this.#swap(host, candidate.state.store, candidate.links);
    host.read = candidate.read;
    host.end = candidate.end;
  }

  #download({ store, dropped }: Host): Downloaded | undefined {
    const snapshots = this.#snapshots().filter(({ manifest }) => !dropped.has(manifest.sha256));
    const manifests = snapshots.map(({ manifest }) => manifest);
    const chosen = chooseSnapshot(manifests, store, (start) => this.#isContinued(start));
    const snapshot = snapshots.find(({ manifest }) => manifest === chosen);
    if (snapshot === undefined) return undefined;
    this.trace.push(`snapshot ${name(snapshot.manifest.start)} is taken`);
    const { database, start, end } = snapshot.manifest;
    return {
      state: {
        store: { database, head: start, written: start },
        hasEnd: start.hash === end.hash,
      },
      awaited: end,
      links: new Map(snapshot.links),
      read: 0,
      end: undefined,
      name: snapshot.manifest.sha256,
    };
  }

  #snapshots(): Snapshot[] {
    return this.#nats.snapshots.flatMap(({ manifest, links }) => {
      const read = decodeManifest(manifest);
      return read === undefined ? [] : [{ manifest: read, links }];
    });
  }

  #isContinued({ hash }: Head): boolean {
    return this.#nats.messages.some((message) => {
      const entry = this.#decode(message);
      return entry !== undefined && (entry.hash === hash || entry.previous === hash);
    });
  }

  /**
   * Visitors see a state from now on, by an entry. One that PostgreSQL's log does not have is of a
   * history that it left, perhaps for an earlier one, and perhaps came back to.
   */
  #serve(host: Host, id: number, hash: string): void {
    const { key } = this.#commitOf(id);
    host.links.set(key, id);
    if (!this.#isOfHistory(id)) return;
    const best = host.best.get(key);
    const isOlder = best !== undefined && best > id && this.#isOfHistory(best);
    if (isOlder && this.#isOfLog(hash))
      throw this.#violation(`link ${key} goes back from ${best} to ${id}`);
    if (!isOlder) host.best.set(key, id);
  }

  /** Whether PostgreSQL's log has, or had, an entry. */
  #isOfLog(hash: string): boolean {
    let at = this.#pg.head.hash;
    while (at !== hash && at !== NO_HASH) at = this.#previous.get(at) ?? NO_HASH;
    return at === hash;
  }

  #swap(host: Host, store: StoreState, links: ReadonlyMap<number, number>): void {
    host.store = store;
    this.trace.push(`host ${this.#hosts.indexOf(host)}: swaps at ${name(store.head)}`);
    for (const key of KEYS) {
      const id = links.get(key);
      const best = host.best.get(key);
      const isOlder = best !== undefined && this.#isOfHistory(best) && best > (id ?? 0);
      if (isOlder && this.#isNoticed())
        throw this.#violation(`link ${key} goes back from ${best} to ${id} at a swap`);
      host.links.delete(key);
      if (id !== undefined) this.#serve(host, id, store.head.hash);
    }
  }

  /** Whether PostgreSQL has a commit, or had it before its last one. */
  #isOfHistory(id: number): boolean {
    let at = this.#pg.tip;
    while (at > id) at = this.#commitOf(at).parent;
    return at === id;
  }

  /** The last message, if it was read. */
  #endFor(
    host: Host,
    { read, end }: { read: number; end: TailEnd | undefined } = host,
  ): TailEnd | undefined {
    const last = this.#nats.messages.findLast(
      (message) => message.sequence <= host.visible && this.#isThere(message),
    );
    if (host.session !== this.#natsSession || last === undefined || last.sequence > read)
      return undefined;
    return end;
  }

  #isCurrent(host: Host): boolean {
    return this.#rules.isCurrent(host.store, this.#endFor(host));
  }

  /** Nobody can know before a publisher does that PostgreSQL has come back older. */
  #isNoticed(): boolean {
    const last = this.#nats.messages.findLast((message) => this.#decode(message) !== undefined);
    if (last === undefined) return false;
    const hash = this.#decode(last)?.hash;
    return this.#pg.rows.some((row) => row.hash === hash);
  }

  /** A host says of a link that it does not exist only if it does not. */
  #checkUnknown(host: Host): void {
    if (!this.#isNoticed() || !this.#isCurrent(host)) return;
    for (const key of KEYS) {
      const existing = this.#commitOf(this.#pg.links.get(key) ?? 0);
      const served = this.#commitOf(host.links.get(key) ?? 0);
      const isUnknown = served.key !== key || served.deleted;
      if (existing.key === key && existing.acknowledged && !existing.deleted && isUnknown)
        throw this.#violation(`link ${key} is 404`);
    }
  }

  #keyOf(state: Uint8Array): number {
    return this.#commitOf(this.#idOf(state)).key;
  }

  #idOf(state: Uint8Array): number {
    return Number(Buffer.from(state).toString());
  }

  #commitOf(id: number): Commit {
    const commit = this.#commits[id];
    if (commit === undefined) throw new Error(`There is no commit ${id}.`);
    return commit;
  }

  /** A host asks when it lacks entries, and when the tail ends with one that it skipped. */
  #ask(host: Host): void {
    const { store } = host;
    const end = this.#endFor(host);
    const hasStrayed = end?.isNew === true && end.hash !== store.head.hash;
    if (!hasStrayed && !lacksEntries(store)) return;
    this.#wantsSnapshot = true;
    const above = this.#rules.planTerm(store.written.term, this.#pg.head);
    if (above === undefined) return;
    this.#isWhole = false;
    this.trace.push(`a host asks from ${name(store.written)}`);
    this.#number(above, false);
  }

  /** The next step of making a snapshot. */
  #build(): void {
    const builder = this.#builder;
    if (builder === undefined) {
      this.#number(undefined, this.#pg.rows.length === 0);
      const left = [...KEYS];
      this.#builder = {
        postgres: this.#postgresSession,
        start: this.#pg.head,
        links: new Map(),
        left,
        end: undefined,
      };
    } else if (builder.end !== undefined) this.#store(builder, builder.end);
    else if (builder.postgres !== this.#postgresSession) this.#builder = undefined;
    else if (builder.left.length > 0) {
      for (const key of builder.left.splice(0, 2)) {
        const id = this.#pg.links.get(key);
        if (id !== undefined) builder.links.set(key, id);
      }
    } else {
      this.#number(undefined, false);
      builder.end = this.#pg.head;
    }
  }

  #store({ start, links }: Builder, end: Head): void {
    const { acknowledged } = this.#pg;
    // PostgreSQL has come back older.
    if (!this.#pg.rows.some(({ hash }) => hash === end.hash))
      return void (this.#builder = undefined);
    // A snapshot is of use once its end is in the tail.
    if (acknowledged === undefined || comparePositions(acknowledged, end) < 0) return;
    const sha256 = hashOf(Buffer.from(String(++this.#built)));
    const manifest = encodeManifest({
      format: "test",
      database: DATABASE,
      start,
      end,
      links: links.size,
      bytes: 1,
      sha256,
    });
    const snapshots = [...this.#nats.snapshots, { manifest, links }].slice(-SNAPSHOTS_KEPT);
    this.#nats = { ...this.#nats, snapshots };
    this.#builder = undefined;
    this.#wantsSnapshot = false;
    this.trace.push(`snapshot ${name(start)} to ${name(end)}`);
  }

  #truncate(): void {
    const sequenceOf = ({ hash }: Head) =>
      this.#nats.messages.find((message) => this.#decode(message)?.hash === hash)?.sequence;
    const manifests = this.#snapshots().map(({ manifest }) => manifest);
    const first = this.#rules.firstKept(manifests, sequenceOf);
    if (first === undefined) return;
    const messages = this.#nats.messages.filter(({ sequence }) => sequence >= first);
    this.#nats = { ...this.#nats, messages };
    this.trace.push(`truncated before sequence ${first}`);
  }

  /** PostgreSQL forgets entries that were acknowledged, and no publisher still needs them. */
  #passHour(): void {
    const { acknowledged } = this.#pg;
    if (acknowledged === undefined) return;
    const rows = this.#pg.rows.filter((row) => comparePositions(row, acknowledged) >= 0);
    this.#pg = { ...this.#pg, rows };
    this.#killPublishers();
    this.#now += HOUR;
    this.trace.push("an hour passes");
  }

  /** A host starts again: as it was, at a mirror that lags, with an older store or with none. */
  #restart(host: Host, random: Random): void {
    const how = random.pick(["as it was", "saved", "at a mirror", "older", "empty"]);
    host.candidate = undefined;
    host.session = -1;
    if (how === "saved") host.saved = { store: host.store, links: new Map(host.links) };
    if (how === "at a mirror")
      host.visible = Math.max(0, this.#nats.lastSequence - random.between(1, 6));
    if (how !== "older" && how !== "empty") return;
    const saved = how === "older" ? host.saved : undefined;
    host.store = saved?.store ?? EMPTY;
    host.links = new Map(saved?.links);
    host.best = new Map();
    this.trace.push(`host ${this.#hosts.indexOf(host)} comes back at ${name(host.store.head)}`);
  }

  #save(random: Random): void {
    const what = random.pick(["PostgreSQL", "NATS", "both"]);
    if (what !== "NATS") this.#savedPg.push(this.#pg);
    if (what !== "PostgreSQL") this.#savedNats.push(this.#nats);
    this.trace.push(`saved ${what} at ${name(this.#pg.head)}`);
  }

  /** Something comes back older, damaged, or not at all. */
  #lose(random: Random): void {
    // Both come back as often as either alone: nothing else shows then what was lost.
    const kind = random.between(-1, 12);
    const pg = random.pick([this.#pg, ...this.#savedPg]);
    const nats = random.pick([this.#nats, ...this.#savedNats]);
    const { messages } = this.#nats;
    const at = random.between(0, Math.max(0, messages.length - 1));
    this.#isWhole = false;
    const both = kind <= 1;
    if (both || kind <= 3) this.#restorePostgres(pg);
    if (both || kind === 4 || kind === 5) this.#replaceNats(nats, "comes back older");
    if (kind === 6) this.#replaceNats({ ...this.#nats, messages: [], lastSequence: 0 }, "is empty");
    if (kind === 7) this.#replaceNats({ ...this.#nats, snapshots: [] }, "lost its snapshots");
    if (kind === 8)
      this.#replaceNats({ ...this.#nats, messages: messages.toSpliced(at, 1) }, "is thinned");
    if (kind === 9) this.#swapMessages(at);
    if (kind === 10) {
      const kept = messages.slice(0, at);
      const lastSequence = kept.at(-1)?.sequence ?? 0;
      this.#replaceNats({ ...this.#nats, messages: kept, lastSequence }, "lost its end");
    }
    const repeated = messages[at];
    if (kind === 11 && repeated !== undefined) {
      this.#append(repeated.bytes, repeated.announced, repeated.isSigned);
      this.#replaceNats(this.#nats, "repeats an entry");
    }
    if (kind === 12) this.#appendForeign(random);
  }

  #restorePostgres(pg: Postgres): void {
    this.#pg = pg;
    this.#postgresSession++;
    this.trace.push(`PostgreSQL comes back at ${name(pg.head)}`);
  }

  #replaceNats(nats: Nats, what: string): void {
    this.#nats = nats;
    this.#natsSession++;
    for (const host of this.#hosts) host.visible = Infinity;
    this.trace.push(`NATS ${what}`);
  }

  #swapMessages(at: number): void {
    const messages = [...this.#nats.messages];
    const [a, b] = [messages[at], messages[at + 1]];
    if (a === undefined || b === undefined) return;
    messages[at] = { ...b, sequence: a.sequence };
    messages[at + 1] = { ...a, sequence: b.sequence };
    this.#replaceNats({ ...this.#nats, messages }, "is reordered");
  }

  /** Somebody without a key publishes: no entry, or one that a host would apply or write. */
  #intrude(random: Random): void {
    const announced = { term: 1, position: 1 };
    const { messages } = this.#nats;
    const repeated = messages[random.between(0, messages.length - 1)];
    if (random.between(1, 3) === 1 && repeated !== undefined) {
      this.#append(repeated.bytes, repeated.announced, repeated.isSigned);
      this.#isWhole = false;
      this.trace.push(`a stranger repeats ${repeated.sequence}`);
    } else if (random.between(1, 4) === 1) this.#append(Buffer.from("{}"), announced, false);
    else {
      const { head } = random.pick(this.#hosts).store;
      const term = head.term + random.between(0, 1);
      const position = head.position + random.between(1, HOUR);
      const id = random.between(0, this.#commits.length - 1);
      const states = id === 0 ? [] : [Buffer.from(String(id))];
      const header = { database: DATABASE, term, position, previous: head.hash };
      this.#append(encodeEntry(header, states), announced, false);
    }
    if (this.#countStrangers() >= STRANGERS_MAX) this.#isWhole = false;
    this.trace.push("a stranger publishes");
  }

  /** An entry of another database, whose API processes have the same key. */
  #appendForeign(random: Random): void {
    const announced = { term: 1, position: 1 };
    const { head } = random.pick(this.#hosts).store;
    const header = { database: OTHER_DATABASE, term: head.term + 1, position: head.position + 1 };
    this.#append(encodeEntry({ ...header, previous: head.hash }, []), announced);
    this.trace.push("another database publishes");
  }

  #violation(text: string): Violation {
    return new Violation(`${text}:\n  ${this.trace.join("\n  ")}`);
  }
}

const laterOf = (a: Position | undefined, b: Position | undefined): Position | undefined =>
  a === undefined || (b !== undefined && comparePositions(b, a) > 0) ? b : a;

const name = ({ term, position }: Position): string => `${term}.${position}`;
