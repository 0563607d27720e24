/**
 * Adds events to the ledger, in the transaction of the changes that they record, and says what
 * changed between two states of a resource.
 */
import type { JSONValue } from "postgres";

import { isAuditType, type LedgerType } from "../../shared/contracts/webhook-schemas.ts";
import { encodeId, newUuid, NIL_UUID, type Uuid } from "../../shared/ids.ts";
import { type AccountScope, type Actor, type Author, OPERATOR } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** The ledger of the installation itself: of what concerns no account. */
export const INSTALLATION = {
  accountId: NIL_UUID,
  mode: "live",
} as const satisfies AccountScope;

/** An event to record. `data` contains no secrets. */
export type NewEvent = {
  /** A new one if left out. */
  id?: Uuid;
  type: LedgerType;
  /** The link, domain, key, user, share or other that it is about; null for the account. */
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

/** Records what is no change, such as an export, before it happens. */
export class LedgerWriter {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async record(author: Author, event: NewEvent): Promise<void> {
    await this.#sql.begin((transaction) => recordEvents(transaction, author, [event]));
  }
}

/**
 * As {@link recordEvents}, of any accounts. Each account pays for what it gets. Throws
 * `rate_limited`, so that nothing is changed, if a caller is the actor and nothing was left of the
 * budget; what happens by itself is recorded, and so are sign-ins: nobody is locked out by changes.
 */
export async function recordAll(
  transaction: Transaction,
  events: readonly (Author & NewEvent)[],
): Promise<void> {
  const costs = await insertEvents(transaction, events);
  const callers = new Set(
    events.flatMap(({ actor, accountId, type }) =>
      "id" in actor && !isAuditType(type) ? accountId : [],
    ),
  );
  for (const { bytes, ...payer } of costs)
    if (callers.has(payer.accountId)) budgets.take(payer, "ledger_bytes", bytes);
    else budgets.spend(payer, "ledger_bytes", bytes);
}

/** The bytes that events take of the budget of their account. */
type LedgerCost = { accountId: Uuid; plan: string; bytes: number };

/** Inserts events in their order; returns what they cost each account. */
async function insertEvents(
  transaction: Transaction,
  events: readonly (Author & NewEvent)[],
): Promise<LedgerCost[]> {
  if (events.length === 0) return [];
  return await transaction<LedgerCost[]>`
    with inserted as (
    insert into events (id, account_id, mode, type, object_id, link_id, data, actor, origin)
    select id, account_id, mode, type, object_id, link_id, data, actor, origin
      from jsonb_array_elements(${transaction.json(events.map(toRow))}::jsonb) with ordinality as given (event, place)
     cross join lateral jsonb_to_record(event)
        as recorded (id uuid, account_id uuid, mode text, type text, object_id uuid, link_id uuid, data jsonb, actor jsonb,
           origin jsonb)
     order by place
    returning account_id, mode, type, bytes
    )
    select account.id as "accountId", account.plan,
           sum(ledger_cost(account_id, mode, type, bytes))::float8 as bytes
      from inserted join accounts account on account.id = account_id
     group by account.id, account.plan`;
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
  origin: actor.origin ?? null,
});

/**
 * Records what happened to a user in each account that they are a member of, and in the
 * installation's ledger without any.
 */
export async function recordOfUser(
  transaction: Transaction,
  userId: Uuid,
  actor: Actor,
  type: LedgerType,
  details: Record<string, JSONValue> = {},
): Promise<void> {
  const [found] = await transaction<{ name: string; email: string; accounts: Uuid[] }[]>`
    select name, email,
           array(select account_id from members where user_id = users.id order by 1) as accounts
      from users where id = ${userId}`;
  if (found === undefined) return;
  const { accounts, name, email } = found;
  const data = { user: { id: encodeId("user", userId), name, email }, ...details };
  const owners = accounts.length === 0 ? [INSTALLATION.accountId] : accounts;
  await recordAll(
    transaction,
    owners.map((accountId) => ({ accountId, mode: "live", actor, type, objectId: userId, data })),
  );
}

/** Records a command of the operator that concerns no account. `data` contains no secrets. */
export const recordCommand = (
  transaction: Transaction,
  command: string,
  data: Record<string, JSONValue> = {},
): Promise<void> =>
  recordEvents(transaction, { ...INSTALLATION, actor: OPERATOR }, [
    { type: "operator.command", objectId: null, data: { command, ...data } },
  ]);

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
