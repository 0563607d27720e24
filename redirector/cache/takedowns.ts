/**
 * The accounts and hosts that an operator has taken down. The link cache marks the links that they
 * cover.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { isTakedownNotice } from "../../shared/contracts/notices.ts";
import { type LinkFacts, TakedownSet } from "../../shared/takedowns.ts";

export class Takedowns {
  #current: TakedownSet | undefined;
  #isKnown = false;
  #onChange: (() => void) | undefined;

  /** Whether a link is taken down with its account or with a host that it redirects to. */
  covers(link: LinkFacts): boolean {
    return this.#current?.covers(link) ?? false;
  }

  /** Applies the list of a record; undefined for a store without one, which lifts none. */
  apply(record: LinkRecord | undefined): void {
    this.#isKnown = true;
    if (record === undefined || !isTakedownNotice(record)) return;
    this.#current = new TakedownSet(record.takedowns);
    this.#onChange?.();
  }

  /** Whether the list has been read since the start. */
  isKnown(): boolean {
    return this.#isKnown;
  }

  onChange(call: () => void): void {
    this.#onChange = call;
  }
}
