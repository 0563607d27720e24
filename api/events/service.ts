/** Reads the ledger of events, and waits for what is added to it. */
import * as z from "zod";

import type { Scope } from "../../shared/contracts/key-schemas.ts";
import { EVENT_TYPE_NAMES, isAuditType } from "../../shared/contracts/webhook-schemas.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { ApiError, invalidField, notFound, unavailable } from "../http/errors.ts";
import { readCursor, writeCursor } from "../http/pagination.ts";
import type { AccountScope, Confirm } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { type EventListResponse, type EventsQuery, LATEST, toEventResponse } from "./model.ts";
import { type EventFilter, type EventsPart, numberEvents, readEvents } from "./sql.ts";

/** Events that one request examines at most. */
const EXAMINED_MAX = 5_000;

/** Bytes of data after which a page ends. */
const PAGE_BYTES_MAX = 1024 * 1024;

const PART_BOUNDS = { examinedMax: EXAMINED_MAX, bytesMax: PAGE_BYTES_MAX };

/** Times that one read numbers events: the next request goes on with what is left. */
const NUMBERINGS_MAX = 4;

/** How long one call gives positions. What it has done stays, so the next call goes on. */
const NUMBERING_MS_MAX = 5_000;

/** The end of a page in the order of the feed, and of one of the newest first. */
const cursorSchema = z.object({ p: z.int().min(0) });
const newestCursorSchema = z.object({ before: z.int().min(0) });

/** Who reads: what `audit:read` is for is left out without it. */
type Reader = AccountScope & { scopes: readonly string[] };

/** Who waits for a response: it is theirs only if they may have it when it is there. */
type Client = { signal: AbortSignal; confirm: Confirm };

export class EventService {
  readonly #sql: Sql;
  readonly #waits: EventWaits;
  readonly #positions: EventPositions;

  constructor(sql: Sql, waits: EventWaits, positions: EventPositions) {
    this.#sql = sql;
    this.#waits = waits;
    this.#positions = positions;
  }

  /**
   * Returns the owner's events after a cursor, and waits for one while there is none; newest first,
   * those before it. Throws `forbidden` for types that the caller may not see, `invalid_request`,
   * `cursor_expired`, `rate_limited` when too many of
   * the owner's requests wait, and `unavailable` when too many of all wait, or too much is unread.
   * After it has waited, it throws as a new request of the client would.
   */
  async list(owner: Reader, query: EventsQuery, client: Client): Promise<EventListResponse> {
    const filter = toFilter(query, owner);
    if (filter.types?.includes("clicks.recorded") === true) await this.#noteReader(owner);
    return query.order === "desc"
      ? await this.#listNewest(owner, query, filter)
      : await this.#listAndWait(owner, query, filter, client);
  }

  /** Notes that the owner reads events of clicks, at most once a minute. */
  async #noteReader({ accountId, mode }: AccountScope): Promise<void> {
    await this.#sql`
      insert into event_readers as reader (account_id, mode, read_at) values (${accountId}, ${mode}, now())
      on conflict (account_id, mode) do update set read_at = excluded.read_at
       where reader.read_at < excluded.read_at - interval '1 minute'`;
  }

  async #listAndWait(
    owner: Reader,
    { starting_after: after, limit, wait }: EventsQuery,
    filter: EventFilter,
    { signal, confirm }: Client,
  ): Promise<EventListResponse> {
    const deadline = performance.now() + wait * 1_000;
    let position = await this.#startOf(owner, after);
    for (let hasWaited = false; ; hasWaited = true) {
      for (let i = 0; i < NUMBERINGS_MAX; i++) if (!(await numberEvents(this.#sql, owner))) break;
      const range = { from: position, order: "asc", limit, ...PART_BOUNDS } as const;
      const part = await readEvents(this.#sql, owner, range, filter);
      position = part.end ?? position;
      const left = deadline - performance.now();
      const isOver = left <= 0 || signal.aborted || this.#waits.isStopped;
      if (part.rows.length > 0 || !part.isAll || isOver) {
        // After the read: nothing is returned that happened when it was no longer the caller's.
        if (hasWaited) await confirm();
        return toResponse(owner, part, { p: position });
      }
      await this.#waits.wait(owner, position, left, signal);
    }
  }

  /**
   * The position after which the feed is read; 0 for its beginning. Throws `cursor_expired` when
   * events after it have been deleted.
   */
  async #startOf(owner: AccountScope, after: string | undefined): Promise<number> {
    if (after === undefined) return 0;
    if (after === LATEST) return await this.#positions.last(owner);
    const position =
      decodeId("event", after) === undefined
        ? (readCursor(cursorSchema, after)?.p ?? 0)
        : await this.#requirePosition(owner, after, "oldest");
    // The beginning has no past that could be missed.
    if (position === 0) return 0;
    const [floor] = await this.#sql<{ position: number }[]>`
      select position::float8 as position from event_floors
       where account_id = ${owner.accountId} and mode = ${owner.mode}`;
    if (position >= (floor?.position ?? 0)) return position;
    throw cursorExpired("oldest");
  }

  async #listNewest(
    owner: Reader,
    { starting_after: after, limit, wait }: EventsQuery,
    filter: EventFilter,
  ): Promise<EventListResponse> {
    if (wait > 0)
      throw invalidField("wait", "must be 0 with order=desc: nothing older will happen");
    const from = await this.#newestStartOf(owner, after);
    const range = { from, order: "desc", limit, ...PART_BOUNDS } as const;
    const part = await readEvents(this.#sql, owner, range, filter);
    // Without a rest there is none later either: nothing is written below a position.
    return toResponse(owner, part, { before: part.isAll ? 0 : (part.end ?? 0) });
  }

  /** The position before which the feed is read, newest first. Throws as {@link #startOf}. */
  async #newestStartOf(owner: AccountScope, after: string | undefined): Promise<number> {
    if (after === LATEST) throw invalidField("starting_after", "cannot be latest with order=desc");
    if (after === undefined) return (await this.#positions.last(owner)) + 1;
    if (decodeId("event", after) === undefined)
      return readCursor(newestCursorSchema, after)?.before ?? 0;
    return await this.#requirePosition(owner, after, "newest");
  }

  /** The position of an event by its id; `first` is with what the feed begins in that order. */
  async #requirePosition(
    owner: AccountScope,
    id: string,
    first: "oldest" | "newest",
  ): Promise<number> {
    const position = await this.#positions.find(owner, id);
    if (position === undefined) throw cursorExpired(first);
    return position;
  }
}

/** Lists the newest events of a feed with their origins, for operators; some thousands at most. */
export async function listForOperator(
  sql: Sql,
  owner: AccountScope,
  limit: number,
): Promise<EventListResponse["data"]> {
  const from = (await new EventPositions(sql).last(owner)) + 1;
  const range = { from, order: "desc", limit, ...PART_BOUNDS } as const;
  const everything = { types: undefined, linkId: undefined, actorId: undefined };
  const { rows } = await readEvents(sql, owner, range, everything);
  return rows.map((row) => toEventResponse(row, true));
}

/** Positions in the ledger, for readers that keep their own place in it. */
export class EventPositions {
  readonly #sql: Sql;
  readonly #numberingMsMax: number;

  constructor(sql: Sql, numberingMsMax = NUMBERING_MS_MAX) {
    this.#sql = sql;
    this.#numberingMsMax = numberingMsMax;
  }

  /** The position of the owner's last committed event; 0 without any. Throws `unavailable`. */
  async last(owner: AccountScope): Promise<number> {
    await this.#numberAll(owner);
    const { accountId, mode } = owner;
    const [row] = await this.#sql<[{ position: number }]>`
      select greatest((select max(position) from events
                        where account_id = ${accountId} and mode = ${mode} and position is not null),
                      (select position from event_floors where account_id = ${accountId} and mode = ${mode}),
                      0)::float8 as position`;
    return row.position;
  }

  /**
   * The position of one of the owner's events by its public id; undefined if it is not an id, or
   * there is no such event. Throws `unavailable`.
   */
  async find(owner: AccountScope, text: string): Promise<number | undefined> {
    const id = decodeId("event", text);
    if (id === undefined) return undefined;
    const known = await this.#findNumbered(owner, id);
    if (known !== undefined) return known;
    await this.#numberAll(owner);
    return await this.#findNumbered(owner, id);
  }

  async #findNumbered({ accountId, mode }: AccountScope, id: Uuid): Promise<number | undefined> {
    const [row] = await this.#sql<{ position: number }[]>`
      select position::float8 as position from events
       where id = ${id} and account_id = ${accountId} and mode = ${mode} and position is not null`;
    return row?.position;
  }

  /**
   * Gives positions to all committed events of the owner, some thousands in a transaction. Throws
   * `unavailable` when it has taken too long, as where nobody has read hundreds of thousands.
   */
  async #numberAll(owner: AccountScope): Promise<void> {
    const deadline = performance.now() + this.#numberingMsMax;
    while (await numberEvents(this.#sql, owner))
      if (performance.now() > deadline)
        throw unavailable(new Error("Very many events have no position yet."));
  }
}

const cursorExpired = (first: "oldest" | "newest"): ApiError =>
  new ApiError(
    "cursor_expired",
    `Events after this cursor have been deleted. Leave out \`starting_after\` to begin with the ${first} event that is kept.`,
    { param: "starting_after" },
  );

function toFilter({ type, link_id, actor_id: actorId }: EventsQuery, reader: Reader): EventFilter {
  const types = typesFor(reader, type === undefined ? undefined : [type].flat());
  const linkId = link_id === undefined ? undefined : decodeId("link", link_id);
  if (link_id !== undefined && linkId === undefined) throw notFound("link");
  return { types, linkId, actorId };
}

const AUDIT_SCOPE = "audit:read" satisfies Scope;

/** The types that a reader gets: those that are asked for, and all that are theirs without. */
function typesFor({ scopes }: Reader, types: string[] | undefined): readonly string[] | undefined {
  if (scopes.includes(AUDIT_SCOPE)) return types;
  if (types?.some(isAuditType) === true)
    throw new ApiError("forbidden", `These types need the scope ${AUDIT_SCOPE}.`);
  return types ?? EVENT_TYPE_NAMES;
}

const toResponse = (
  { scopes }: Reader,
  { rows, isAll }: EventsPart,
  cursor: object,
): EventListResponse => ({
  data: rows.map((row) => toEventResponse(row, scopes.includes(AUDIT_SCOPE))),
  has_more: !isAll,
  next_cursor: writeCursor(cursor),
});

// Requests that wait for events. They hold no connection to PostgreSQL: one query at a time asks
// which of them have something to read.

/** Maximum requests of an account that wait in this process. */
const WAITS_PER_ACCOUNT = 10;

/** Maximum requests that wait in this process. */
const WAITS_MAX = 1_000;

/** Pause between two queries. */
const POLL_MS = 250;

/** Somebody who waits for events of an account and mode after a position. */
type Waiting = AccountScope & { position: number };

type Wait = Waiting & { resolve: () => void };

export class EventWaits {
  readonly #sql: Sql;
  readonly #log: Log;
  readonly #pollMs: number;
  readonly #waits = new Set<Wait>();
  #isPolling = false;
  #isStopped = false;

  constructor(sql: Sql, log: Log, pollMs = POLL_MS) {
    this.#sql = sql;
    this.#log = log;
    this.#pollMs = pollMs;
  }

  get count(): number {
    return this.#waits.size;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /**
   * Waits until there are events of the owner after a position, the time is over, the client is
   * gone, or the process stops. Throws `rate_limited` and `unavailable` when too many wait.
   */
  async wait(
    { accountId, mode }: AccountScope,
    position: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#isStopped || signal.aborted) return;
    this.#requireRoom(accountId);
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = { accountId, mode, position, resolve };
    this.#waits.add(wait);
    const end = () => resolve();
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    if (!this.#isPolling) void this.#poll();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waits.delete(wait);
    }
  }

  /** Ends all waits, and those to come. */
  stop(): void {
    this.#isStopped = true;
    for (const wait of this.#waits) wait.resolve();
  }

  #requireRoom(accountId: Uuid): void {
    if (this.#waits.size >= WAITS_MAX) throw unavailable("Too many requests wait for events.");
    const own = [...this.#waits].filter((wait) => wait.accountId === accountId).length;
    if (own < WAITS_PER_ACCOUNT) return;
    throw new ApiError(
      "rate_limited",
      `At most ${WAITS_PER_ACCOUNT} requests of an account wait for events at a time.`,
      { retryAfterSeconds: 1 },
    );
  }

  /** Asks until nobody waits. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    let isFailing = false;
    while (this.#waits.size > 0) {
      const asked = [...this.#waits];
      try {
        for (const index of await findNews(this.#sql, asked)) asked[index]?.resolve();
        isFailing = false;
      } catch (error) {
        if (!isFailing) this.#log.warn({ error }, "events_not_polled");
        isFailing = true;
      }
      await Bun.sleep(this.#pollMs);
    }
    this.#isPolling = false;
  }
}

/** Returns the indexes of those for whom there are events, with or without a position yet. */
async function findNews(sql: Sql, waiting: readonly Waiting[]): Promise<number[]> {
  const rows = await sql<{ index: number }[]>`
    select (place - 1)::integer as index
      from unnest(${waiting.map(({ accountId }) => accountId)}::uuid[], ${waiting.map(({ mode }) => mode)}::text[],
                  ${waiting.map(({ position }) => position)}::bigint[])
           with ordinality as waiting (account_id, mode, after, place)
     where exists (select from events event
                    where event.account_id = waiting.account_id and event.mode = waiting.mode and position is null)
        or exists (select from events event
                    where event.account_id = waiting.account_id and event.mode = waiting.mode
                      and position > waiting.after)`;
  return rows.map(({ index }) => index);
}
