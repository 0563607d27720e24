/**
 * What a links store knows of the links log: the row beside the links, which changes only in the
 * transactions that write entries.
 */
import type { Database } from "bun:sqlite";

import { EMPTY_STORE, lacksEntries, type StoreState } from "../links-log/decisions.ts";
import { DamagedRecordError } from "./stored-record.ts";

export type LogState = StoreState & {
  /**
   * The last sequence of the tail that was read. Only a hint: a stream that is made again, or comes
   * back older, has other entries there.
   */
  sequence: number;
  /** Messages that the tail had after it. */
  pending: number;
  /** Whether the store ended where PostgreSQL does: a link that it lacks does not exist. */
  isCurrent: boolean;
  /** Number of links in the store. */
  links: number;
  /** What the host waits for to have all entries, for operators; null when nothing is missing. */
  obstacle: string | null;
};

export const EMPTY_LOG: LogState = {
  ...EMPTY_STORE,
  sequence: 0,
  pending: 0,
  isCurrent: false,
  links: 0,
  obstacle: null,
};

/** Whether the store has all links as they were at some time: it is a prefix of a history. */
export const hasAllLinks = (state: LogState): boolean =>
  state.head.position > 0 && !lacksEntries(state);

/**
 * Whether a new store is still reading what the tail had before: its states are older than what
 * visitors may have seen, so nothing is served from it.
 */
export const isReplaying = ({ head, pending }: LogState): boolean =>
  head.position === 0 && pending > 0;

/** Reads the state; that of an empty store before the first entry. */
export function readLogState(db: Database): LogState {
  const row = db.query<{ state: string }, []>("SELECT state FROM log").get();
  if (row === null) return EMPTY_LOG;
  try {
    const state: Partial<LogState> = JSON.parse(row.state);
    return { ...EMPTY_LOG, ...state };
  } catch (error) {
    throw new DamagedRecordError("The state of the links log is no JSON.", { cause: error });
  }
}

export const setLogState = (db: Database, state: LogState): void =>
  void db
    .query<undefined, [string]>(
      "INSERT INTO log VALUES (1, ?) ON CONFLICT DO UPDATE SET state = excluded.state",
    )
    .run(JSON.stringify(state));
