/**
 * Requests that create, update or delete links: each link succeeds or fails on its own. A request
 * for one link is one for many with a single row.
 */
import { beginTurn } from "../../shared/turns.ts";
import { ApiError } from "../http/errors.ts";
import type { LinkRow } from "./model.ts";

/** Why a row of a request failed. */
export type Failure = { error: ApiError };

/** The outcome of a row. */
export type LinkResult = { link: LinkRow } | Failure;

/**
 * The outcomes of all rows, in their order. `propagated` is false when the links log was
 * unreachable: the changes are committed, and the outbox relay publishes them later.
 */
export type LinkResults = { results: LinkResult[]; propagated: boolean };

/** The outcome of a request for one link. */
export type WriteResult = { link: LinkRow; propagated: boolean };

/** The outcome of the only row; throws its error. */
export function onlyResult({ results: [result], propagated }: LinkResults): WriteResult {
  if (result === undefined) throw new Error("A request for a link has no result.");
  if ("error" in result) throw result.error;
  return { link: result.link, propagated };
}

/**
 * The failure of a row; rethrows what fails the whole request: all but an {@link ApiError} below
 * 500.
 */
export function toFailure(error: unknown): Failure {
  if (!(error instanceof ApiError) || error.status >= 500) throw error;
  return { error };
}

/**
 * Prepares every row that has not failed yet, in as many turns of the event loop as that takes. A
 * row fails as {@link toFailure} says.
 */
export async function prepareAll<Row extends object, Prepared extends object>(
  rows: readonly (Row | Failure)[],
  prepare: (row: Row) => Promise<Prepared>,
): Promise<(Prepared | Failure)[]> {
  const turn = beginTurn();
  const prepared: Promise<Prepared | Failure>[] = [];
  for (const row of rows) {
    if (turn.isOver()) await turn.next();
    const one = isFailure(row) ? Promise.resolve(row) : prepare(row).catch(toFailure);
    // It may fail before all others have begun; the error is thrown below.
    one.catch(() => undefined);
    prepared.push(one);
  }
  return await Promise.all(prepared);
}

export const isFailure = (row: object): row is Failure => "error" in row;
