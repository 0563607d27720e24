/** Links whose counters are to be written, and what the worker knows of them beside their totals in ClickHouse. */
import type { Difference } from "../shared/clicks/rollups.ts";
import type { Uuid } from "../shared/ids.ts";

/** A link with new clicks. */
export type ClickedLink = {
  linkId: Uuid;
  /** The time of its last click by a person, in Unix milliseconds; 0 if none of the clicks is by a person. */
  lastClick: number;
};

export type PendingLink = {
  /** The last click by a person that this worker has stored, in Unix milliseconds; 0 if there is none. */
  lastClick: number;
  /** Since when another worker may have stored clicks of the link, in Unix seconds; infinite if none has. */
  unknownSince: number;
  /** Clicks of people and of bots that a repair removed from the rollups, and that the link's counters may still contain. */
  surplusClicks: number;
  surplusBots: number;
};

const NOTHING: PendingLink = {
  lastClick: 0,
  unknownSince: Infinity,
  surplusClicks: 0,
  surplusBots: 0,
};

/** What the repair of a bucket says of its link. */
export const knownByRepair = ({ bucket, missing, humans, bots }: Difference) => ({
  unknownSince: missing > 0 ? bucket : Infinity,
  surplusClicks: Math.max(0, -humans),
  surplusBots: Math.max(0, -bots),
});

export function createPendingLinks() {
  const links = new Map<Uuid, PendingLink>();
  return {
    /** Adds a link, or to what is known of it. */
    add(linkId: Uuid, known: Partial<PendingLink>): void {
      const before = links.get(linkId) ?? NOTHING;
      const added = { ...NOTHING, ...known };
      links.set(linkId, {
        lastClick: Math.max(before.lastClick, added.lastClick),
        unknownSince: Math.min(before.unknownSince, added.unknownSince),
        surplusClicks: before.surplusClicks + added.surplusClicks,
        surplusBots: before.surplusBots + added.surplusBots,
      });
    },
    /** Returns up to `max` links, those that have waited longest, and forgets them. */
    take(max: number): Map<Uuid, PendingLink> {
      const taken = new Map(links.entries().take(max));
      for (const linkId of taken.keys()) links.delete(linkId);
      return taken;
    },
    count: (): number => links.size,
  };
}
