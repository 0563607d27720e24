/** Adds events to the ledger, in the transaction of the changes that they record. */
import type { JSONValue } from "postgres";

import type { EventType } from "../../shared/contracts/event-types.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import type { Actor, Author } from "../http/principal.ts";
import type { Transaction } from "../postgres.ts";
import { insertEvents } from "./sql.ts";

/** An event to record. `data` contains no secrets. */
export type NewEvent = {
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

/** As {@link recordEvents}, of any accounts. */
export const recordAll = (
  transaction: Transaction,
  events: readonly (Author & NewEvent)[],
): Promise<void> =>
  insertEvents(
    transaction,
    events.map(({ accountId, mode, actor, type, objectId, linkId, data }) => ({
      id: newUuid(),
      account_id: accountId,
      mode,
      type,
      object_id: objectId,
      link_id: linkId ?? null,
      data,
      actor: actorJson(actor),
    })),
  );

/** A response as JSON: what it is already, but for members that are undefined. */
export const toJson = (value: object): JSONValue => JSON.parse(JSON.stringify(value));
