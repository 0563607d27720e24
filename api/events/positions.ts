/** Positions in the ledger, for readers that keep their own place in it. */
import { decodeId } from "../../shared/ids.ts";
import { unavailable } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { findLastPosition, findPosition, numberEvents } from "./sql.ts";

/** How long one call gives positions. What it has done stays, so the next call goes on. */
const NUMBERING_MS_MAX = 5_000;

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
    return await findLastPosition(this.#sql, owner);
  }

  /**
   * The position of one of the owner's events by its public id; undefined if it is not an id, or
   * there is no such event. Throws `unavailable`.
   */
  async find(owner: AccountScope, text: string): Promise<number | undefined> {
    const id = decodeId("event", text);
    if (id === undefined) return undefined;
    const known = await findPosition(this.#sql, owner, id);
    if (known !== undefined) return known;
    await this.#numberAll(owner);
    return await findPosition(this.#sql, owner, id);
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
