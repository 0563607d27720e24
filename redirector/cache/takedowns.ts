/**
 * The accounts and hosts that an operator has taken down. The link cache marks the links that they
 * cover.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { isTakedownNotice } from "../../shared/contracts/notices.ts";
import { type TakedownFields, TakedownSet } from "../../shared/takedowns.ts";

export class Takedowns {
  #current: TakedownSet | undefined;
  #isKnown = false;

  /** Whether a link is taken down with its account or with a host that it redirects to. */
  covers(link: TakedownFields): boolean {
    return this.#current?.covers(link) ?? false;
  }

  /**
   * Applies the list of a record; undefined for a store without one, which lifts none. Returns
   * whether there is a new list, by which the caller marks the cached links again.
   */
  apply(record: LinkRecord | undefined): boolean {
    this.#isKnown = true;
    if (record === undefined || !isTakedownNotice(record)) return false;
    this.#current = new TakedownSet(record.takedowns);
    return true;
  }

  /** Whether the list has been read since the start. */
  isKnown(): boolean {
    return this.#isKnown;
  }
}
