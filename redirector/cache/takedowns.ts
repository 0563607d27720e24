/**
 * The accounts and hosts that an operator has taken down. The link cache marks the links that they
 * cover.
 */
import { isTakedownNotice, type TakedownNotice } from "../../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { compileTakedowns, type Covers, type LinkFacts } from "../../shared/takedowns/covers.ts";

export type Takedowns = ReturnType<typeof createTakedowns>;

export function createTakedowns() {
  let notice: TakedownNotice | undefined;
  let covers: Covers | undefined;
  let isKnown = false;
  let listener: (() => void) | undefined;
  return {
    /** Whether a link is taken down with its account or with a host that it redirects to. */
    covers: (link: LinkFacts): boolean => covers?.(link) ?? false,
    /**
     * Applies the list of a record, unless a newer one is stored; undefined for a feed without a
     * list.
     */
    apply(record: LinkRecord | undefined): void {
      isKnown = true;
      if (record === undefined || !isTakedownNotice(record)) return;
      if (notice !== undefined && notice.version >= record.version) return;
      covers = compileTakedowns(record.takedowns);
      notice = record;
      listener?.();
    },
    /** Whether the list has been read since the start. */
    isKnown: (): boolean => isKnown,
    /** Sets the function that is called after each change. */
    onChange: (call: () => void): void => void (listener = call),
  };
}
