/** Reads the ledger of events, and waits for what is added to it. */
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { type EventListResponse, type EventsQuery, LATEST, toEventResponse } from "./model.ts";
import {
  type EventFilter,
  type EventsPart,
  findFloor,
  findLastPosition,
  findPosition,
  noteReader,
  numberEvents,
  readEvents,
} from "./sql.ts";
import type { EventWaits } from "./waits.ts";

/** Events that one request examines at most. */
const EXAMINED_MAX = 5_000;

/** Bytes of data after which a page ends. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** Times that one read numbers events: the next request goes on with what is left. */
const NUMBERINGS_MAX = 4;

const cursorSchema = z.object({ p: z.int().min(0) });

type EventServiceDeps = { sql: Sql; waits: EventWaits };

export type EventService = ReturnType<typeof createEventService>;

export const createEventService = ({ sql, waits }: EventServiceDeps) => ({
  /**
   * Returns the owner's events after a cursor, and waits for one while there is none. Throws
   * `invalid_request`, `cursor_expired`, and `rate_limited` and `unavailable` when too many wait.
   */
  async list(
    owner: AccountScope,
    query: EventsQuery,
    signal: AbortSignal,
  ): Promise<EventListResponse> {
    const filter = toFilter(query);
    const deadline = performance.now() + query.wait * 1_000;
    if (filter.types?.includes("clicks.recorded") === true) await noteReader(sql, owner);
    let position = await startOf(sql, owner, query.after);
    for (;;) {
      const part = await readPart(sql, owner, position, filter, query.limit);
      position = part.end ?? position;
      const left = deadline - performance.now();
      const isOver = left <= 0 || signal.aborted || waits.isStopped();
      if (part.rows.length > 0 || !part.isAll || isOver) return toResponse(part, position);
      await waits.wait(owner, position, left, signal);
    }
  },
});

/** Gives positions to what is new, and reads. */
async function readPart(
  sql: Sql,
  owner: AccountScope,
  position: number,
  filter: EventFilter,
  limit: number,
): Promise<EventsPart> {
  for (let i = 0; i < NUMBERINGS_MAX; i++) if (!(await numberEvents(sql, owner))) break;
  const bounds = { limit, examinedMax: EXAMINED_MAX, bytesMax: PAGE_BYTES_MAX };
  return await readEvents(sql, owner, position, filter, bounds);
}

/**
 * The position after which the feed is read; 0 for its beginning. Throws `cursor_expired` when
 * events after it have been deleted.
 */
async function startOf(sql: Sql, owner: AccountScope, after: string | undefined): Promise<number> {
  if (after === undefined) return 0;
  if (after === LATEST) {
    await numberEvents(sql, owner);
    return await findLastPosition(sql, owner);
  }
  const position = await positionOf(sql, owner, after);
  // The beginning has no past that could be missed.
  if (position === 0 || position >= (await findFloor(sql, owner))) return position;
  throw cursorExpired();
}

/** The position of a cursor, or of an event by its id. */
async function positionOf(sql: Sql, owner: AccountScope, after: string): Promise<number> {
  const id = decodeId("event", after);
  if (id === undefined) return readCursor(cursorSchema, after, "after")?.p ?? 0;
  await numberEvents(sql, owner);
  const position = await findPosition(sql, owner, id);
  if (position === undefined) throw cursorExpired();
  return position;
}

const cursorExpired = (): ApiError =>
  new ApiError(
    "cursor_expired",
    "Events after this cursor have been deleted. Leave out `after` to begin with the oldest event that is kept.",
    { param: "after" },
  );

function toFilter({ type, link_id }: EventsQuery): EventFilter {
  const types = type === undefined ? undefined : [type].flat();
  if (link_id === undefined) return { types, linkId: undefined };
  const linkId = decodeId("link", link_id);
  if (linkId === undefined) throw notFound("link");
  return { types, linkId };
}

const toResponse = ({ rows, isAll }: EventsPart, position: number): EventListResponse => ({
  data: rows.map(toEventResponse),
  has_more: !isAll,
  next_cursor: writeCursor({ p: position }),
});
