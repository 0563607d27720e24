/**
 * Adds events to the ledger, in the transaction of the changes that they record, and says what
 * changed between two states of a resource.
 */
import type { JSONValue } from "postgres";

import type { EventType } from "../../shared/contracts/webhook-schemas.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import type { Actor, Author } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { Transaction } from "../postgres.ts";
import { insertEvents } from "./sql.ts";

/** An event to record. `data` contains no secrets. */
export type NewEvent = {
  /** A new one if left out. */
  id?: Uuid;
  type: EventType;
  /** The link, domain, key, user or share that it is about; null for the account. */
  objectId: Uuid | null;
  /** The link, if it is about one. */
  linkId?: Uuid;
  data: JSONValue;
};

/** An actor as the ledger stores it, with its public id. */
export function actorJson(actor: Actor): { type: Actor["type"]; id?: string } {
  if (!("id" in actor)) return { type: actor.type };
  const kind = actor.type === "api_key" ? "key" : "user";
  return { type: actor.type, id: encodeId(kind, actor.id) };
}

/** Records events of the author's account and mode, in their order. */
export const recordEvents = (
  transaction: Transaction,
  author: Author,
  events: readonly NewEvent[],
): Promise<void> =>
  recordAll(
    transaction,
    events.map((event) => ({ ...author, ...event })),
  );

/**
 * As {@link recordEvents}, of any accounts. Each account pays for what it gets. Throws
 * `rate_limited`, so that nothing is changed, if a caller is the actor and nothing was left of the
 * budget; what happens by itself is recorded.
 */
export async function recordAll(
  transaction: Transaction,
  events: readonly (Author & NewEvent)[],
): Promise<void> {
  const costs = await insertEvents(transaction, events.map(toRow));
  const callers = new Set(
    events.flatMap(({ actor, accountId }) => ("id" in actor ? accountId : [])),
  );
  for (const { bytes, ...payer } of costs)
    if (callers.has(payer.accountId)) budgets.take(payer, "ledger_bytes", bytes);
    else budgets.spend(payer, "ledger_bytes", bytes);
}

const toRow = ({
  id,
  accountId,
  mode,
  actor,
  type,
  objectId,
  linkId,
  data,
}: Author & NewEvent) => ({
  id: id ?? newUuid(),
  account_id: accountId,
  mode,
  type,
  object_id: objectId,
  link_id: linkId ?? null,
  data,
  actor: actorJson(actor),
});

/** A response as JSON: what it is already, but for members that are undefined. */
export const toJson = (value: object): JSONValue => JSON.parse(JSON.stringify(value));

type Fields = Readonly<Record<string, unknown>>;

/** Fields before and after a change; null stands for an absent one. */
export type Changes = Record<string, { before: JSONValue; after: JSONValue }>;

/** The fields that differ, except those that are ignored. */
export function changesBetween(
  before: Fields,
  after: Fields,
  ignored: readonly string[] = [],
): Changes {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter(
    (name) => !ignored.includes(name) && !Bun.deepEquals(before[name], after[name]),
  );
  return Object.fromEntries(
    changed.map((name) => [name, { before: toValue(before[name]), after: toValue(after[name]) }]),
  );
}

const toValue = (value: unknown): JSONValue => JSON.parse(JSON.stringify(value ?? null));

type Protected = { password_hash: string | null };

/** A change of a password: whether there was one, and whether there is one; nothing else of it. */
export function passwordChange(
  { password_hash: before }: Protected,
  { password_hash: after }: Protected,
) {
  if (before === after) return {};
  return { password: { before: stateOf(before), after: stateOf(after) } };
}

const stateOf = (hash: string | null) => (hash === null ? null : "set");
