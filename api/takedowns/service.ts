/** Takedowns of accounts and destination hosts: an operator's list, which all redirectors store. */
import { ENCODED_LINK_BYTES_MAX, encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import {
  type TakedownList,
  type TakedownNotice,
  takedownNotice,
} from "../../shared/contracts/notices.ts";
import { encodeId } from "../../shared/ids.ts";
import { TakedownSet } from "../../shared/takedowns.ts";
import { recordCommand, recordEvents } from "../events/record.ts";
import { OPERATOR } from "../http/principal.ts";
import { addToOutbox, isAcknowledged, numberAll } from "../links-log/log.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** How long an API process may use an outdated list. */
const STALE_MS = 1_000;

/** Maximum time a command waits until a change is published: the API looks every half second. */
const PUBLISHED_WITHIN_MS = 5_000;
const POLL_MS = 50;

/** Kinds of takedowns that cover many links. */
export type TakedownKind = "account" | "host";

/**
 * A takedown, and when it was created. The subject of an account is its UUID, that of a host the
 * host in lower case.
 */
type Takedown = { kind: TakedownKind; subject: string; created_at: Date };

/** The current takedowns, for the requests of a process. */
export class TakedownReader {
  readonly #sql: Sql;
  #current: TakedownSet | undefined;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Returns the current takedowns; undefined when there are none. Concurrent calls share a query.
   * It never fails a request: while the list cannot be read, it returns the last one.
   */
  async read(): Promise<TakedownSet | undefined> {
    if (Date.now() - this.#readAt >= STALE_MS) {
      this.#reading ??= this.#refresh()
        .catch(() => undefined)
        .finally(() => (this.#reading = undefined));
      await this.#reading;
    }
    return this.#current;
  }

  async #refresh(): Promise<void> {
    const list = await selectTakedowns(this.#sql);
    const isEmpty = list.accounts.length === 0 && list.hosts.length === 0;
    this.#current = isEmpty ? undefined : new TakedownSet(list);
    this.#readAt = Date.now();
  }
}

/**
 * Takes down or restores an account (by its UUID) or a host. Returns false when there is no such
 * account, or nothing to restore. Throws when the list would not fit into a message.
 */
export async function changeTakedowns(
  sql: Sql,
  kind: TakedownKind,
  subject: string,
  down: boolean,
): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    await transaction`lock table takedowns in share row exclusive mode`;
    if (down) {
      if (kind === "account") {
        const accounts = await transaction`select from accounts where id = ${subject}`;
        if (accounts.count === 0) return false;
      }
      const { count } = await transaction`
        insert into takedowns (kind, subject) values (${kind}, ${subject}) on conflict do nothing`;
      if (count > 0) await recordTakedown(transaction, kind, subject, "account.taken_down");
    } else {
      const { count } = await transaction`
        delete from takedowns where kind = ${kind} and subject = ${subject}`;
      if (count === 0) return false;
      await recordTakedown(transaction, kind, subject, "account.restored");
    }
    const list = await selectTakedowns(transaction);
    requireFits(list);
    await addToOutbox(transaction, [takedownNotice(list)]);
    return true;
  });
}

/**
 * Records the takedown of an account, whose links are of both modes. That of a host is no
 * account's, as it covers links of all that redirect there: it is in the installation's ledger.
 */
async function recordTakedown(
  transaction: Transaction,
  kind: TakedownKind,
  subject: string,
  type: "account.taken_down" | "account.restored",
): Promise<void> {
  if (kind === "host") {
    const command = type === "account.taken_down" ? "links disable" : "links enable";
    return await recordCommand(transaction, command, { host: subject });
  }
  const event = { type, objectId: subject, data: { account: { id: encodeId("acct", subject) } } };
  for (const mode of ["live", "test"] as const)
    await recordEvents(transaction, { accountId: subject, mode, actor: OPERATOR }, [event]);
}

/** Reads the list as a notice. */
export const readTakedownNotice = async (sql: Sql): Promise<TakedownNotice> =>
  takedownNotice(await selectTakedowns(sql));

function requireFits(list: TakedownList): void {
  const { length } = encodeLinkRecord(takedownNotice(list));
  if (length <= ENCODED_LINK_BYTES_MAX) return;
  throw new Error(
    `The list of accounts and hosts would take ${length} bytes; at most ${ENCODED_LINK_BYTES_MAX} are possible. Lift some, or take down single links.`,
  );
}

/**
 * Waits until everything that was committed is published; false on timeout, as without a running
 * API process.
 */
export async function waitUntilPublished(sql: Sql): Promise<boolean> {
  const deadline = Date.now() + PUBLISHED_WITHIN_MS;
  const head = await numberAll(sql);
  while (!(await isAcknowledged(sql, head))) {
    if (Date.now() >= deadline) return false;
    await Bun.sleep(POLL_MS);
  }
  return true;
}

/** All takedowns of accounts and hosts, the newest first. */
export const findTakedowns = async (sql: Sql): Promise<Takedown[]> =>
  await sql<Takedown[]>`
    select kind, subject, created_at from takedowns order by created_at desc, kind, subject`;

async function selectTakedowns(sql: Sql | Transaction): Promise<TakedownList> {
  const [row] = await sql<[{ accounts: string[]; hosts: string[] }]>`
    select coalesce(array_agg(subject order by subject) filter (where kind = 'account'), '{}') as accounts,
           coalesce(array_agg(subject order by subject) filter (where kind = 'host'), '{}') as hosts
      from takedowns`;
  return row;
}
