/**
 * The streams among which the links feed is divided; by default there is one. Each is a whole feed of the links that it
 * has: with a heartbeat and an epoch of its own, and with all notices, which thus come before the changes that follow them.
 */
import * as z from "zod";

import { envList } from "../env.ts";
import { isNotice } from "./feed-notices.ts";
import type { LinkRecord } from "./link-record.ts";

export type LinksStream = {
  name: string;
  /** What all of its subjects begin with. */
  root: string;
  /** Which of how many it is. */
  index: number;
  count: number;
};

/** The stream of a feed that is not divided. */
export const UNDIVIDED = {
  name: "LINKS",
  root: "links",
  index: 0,
  count: 1,
} as const satisfies LinksStream;

/** How many streams there may be: those that the users of deploy/nats/users.conf may use. */
const COUNTS = ["1", "4"] as const;

/**
 * The streams of a feed that is divided into so many. Their names and subjects say into how many: feeds of two numbers
 * are different feeds, so that one can be filled beside the other.
 */
export const linksStreams = (count: number): LinksStream[] =>
  count === 1
    ? [UNDIVIDED]
    : Array.from({ length: count }, (_, index) => ({
        name: `LINKS_${count}_${index}`,
        root: `links_${count}.${index}`,
        index,
        count,
      }));

/** Every stream that an installation may have. */
export const ALL_LINKS_STREAMS = COUNTS.flatMap((count) => linksStreams(Number(count)));

/** Whether a stream has a link or notice: notices are in all, and links by the CRC-32 (ISO 3309) of domain and alias. */
export const isInStream = (
  { index, count }: LinksStream,
  link: Pick<LinkRecord, "domain" | "alias">,
): boolean =>
  count === 1 || isNotice(link) || Bun.hash.crc32(`${link.domain}/${link.alias}`) % count === index;

/**
 * A value of `LINKS_STREAMS`: into how many streams the feed is divided that redirectors follow, and behind a comma another
 * number of which there is a feed as well, while the number changes.
 */
export const envLinksStreams = envList("1")
  .pipe(z.array(z.enum(COUNTS, "must be 1 or 4, or both while that changes")).min(1))
  .transform((counts) => {
    const [followed = [], ...others] = [...new Set(counts)].map((n) => linksStreams(Number(n)));
    return { followed, published: [...followed, ...others.flat()] };
  });

export type LinksStreams = z.output<typeof envLinksStreams>;
