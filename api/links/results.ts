/**
 * The rows of requests that create, update or delete links: each succeeds or fails on its own, and
 * takes from the account's budgets. A request for one link is one for many with a single row.
 */
import type { Uuid } from "../../shared/ids.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { ApiError } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { CreateLinkBody, LinkRow, ManyChangeBody } from "./model.ts";

/** A link to create. The caller chooses the id, so that a retry of the request finds the link. */
export type Creation = { id: Uuid; body: CreateLinkBody };

/** A link that a request names. */
export type Target = {
  /** undefined for a text that is no id: there is no such link. */
  id: Uuid | undefined;
  /** Throws when the request must not change this version. */
  requireVersion?: RequireVersion | undefined;
};

export type Update = Target & { body: ManyChangeBody };

/** Why a row of a request failed. */
export type Failure = { error: ApiError };

/** The outcome of a row. */
export type LinkResult = { link: LinkRow } | Failure;

/**
 * The outcomes of all rows, in their order. `propagated` is false when the links log was
 * unreachable: the changes are committed, and a later run of the publisher publishes them.
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
  const slice = new TimeSlice();
  const prepared: Promise<Prepared | Failure>[] = [];
  for (const row of rows) {
    if (slice.isOver()) await slice.next();
    const one = isFailure(row) ? Promise.resolve(row) : prepare(row).catch(toFailure);
    // It may fail before all others have begun; the error is thrown below.
    one.catch(() => undefined);
    prepared.push(one);
  }
  return await Promise.all(prepared);
}

export const isFailure = (row: object): row is Failure => "error" in row;

/**
 * Throws `rate_limited` while nothing is left of what the account may write. An operator's command
 * takes from no budget of the account.
 */
export function requireWriting(owner: Writer): void {
  if (owner.actor.type === "operator") return;
  budgets.require(owner, "changed_links");
  budgets.require(owner, "ledger_bytes");
}

/**
 * Takes the passwords that a request sets from the account's budget. Throws `rate_limited` when
 * nothing is left of it.
 */
export function chargePasswords(
  owner: Writer,
  rows: readonly ({ body: { password?: string | null | undefined } } | Failure)[],
): void {
  const set = rows.filter((row) => !isFailure(row) && typeof row.body.password === "string");
  if (set.length > 0) budgets.take(owner, "link_passwords", set.length);
}

/**
 * Charges for the aliases that a check calls taken or free, of any account. Throws `rate_limited`
 * while nothing is left of the budget.
 */
export function chargeAliases(owner: Writer, rows: readonly unknown[]): void {
  const named = rows.filter((row) => typeof Reflect.get(Object(row), "alias") === "string");
  if (named.length > 0) budgets.take(owner, "checked_aliases", named.length);
}

/**
 * Takes the rows of a bulk creation before it begins, and gives back those that created no link.
 * Throws `rate_limited` while nothing is left of the budget.
 */
export async function chargeRows(
  owner: Writer,
  rows: number,
  create: () => Promise<LinkResults>,
): Promise<LinkResults> {
  const settle = budgets.reserve(owner, "bulk_rows", rows);
  let created = 0;
  try {
    const outcome = await create();
    created = outcome.results.filter((result) => !isFailure(result)).length;
    return outcome;
  } finally {
    settle(created);
  }
}
