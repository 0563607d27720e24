/** Positions in the ledger, for those who read it from a place of their own. */
import { decodeId } from "../../shared/ids.ts";
import { unavailable } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { findLastPosition, findPosition, numberEvents } from "./sql.ts";

/** How long one call gives positions. What it has done stays, so the next call goes on. */
const NUMBERING_MS_MAX = 5_000;

export type EventPositions = ReturnType<typeof createEventPositions>;

export function createEventPositions(sql: Sql, numberingMsMax = NUMBERING_MS_MAX) {
  /**
   * Gives positions to all committed events of the owner, some thousands in a transaction. Throws
   * `unavailable` when it has taken too long, as where nobody has read hundreds of thousands.
   */
  async function numberAll(owner: AccountScope): Promise<void> {
    const deadline = performance.now() + numberingMsMax;
    while (await numberEvents(sql, owner))
      if (performance.now() > deadline)
        throw unavailable(new Error("Very many events have no position yet."));
  }

  return {
    /** The position of the owner's last committed event; 0 without any. Throws `unavailable`. */
    async last(owner: AccountScope): Promise<number> {
      await numberAll(owner);
      return await findLastPosition(sql, owner);
    },

    /**
     * The position of one of the owner's events by its public id; undefined if it is not an id, or
     * there is no such event. Throws `unavailable`.
     */
    async find(owner: AccountScope, text: string): Promise<number | undefined> {
      const id = decodeId("event", text);
      if (id === undefined) return undefined;
      const known = await findPosition(sql, owner, id);
      if (known !== undefined) return known;
      await numberAll(owner);
      return await findPosition(sql, owner, id);
    },
  };
}
