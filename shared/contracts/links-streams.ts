/**
 * The streams among which the links feed is divided; by default there is one. Each is a complete
 * feed of its links, with its own heartbeat and epoch. Each has all notices, so that a notice
 * precedes the changes that were made after it.
 */
import * as z from "zod";

import { envList } from "../env.ts";
import { isNotice } from "./feed-notices.ts";
import { keyOf, type ShortLink } from "./short-link.ts";

export type LinksStream = {
  name: string;
  /** The prefix of all its subjects. */
  root: string;
  /** Its index, and the number of streams. */
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

/**
 * The allowed numbers of streams: those for which the users of deploy/nats/users.conf have
 * permissions.
 */
const COUNTS = ["1", "4"] as const;

/**
 * The streams of a feed that is divided into this number. Names and subjects contain the number, so
 * that feeds of two numbers can exist at the same time while one is filled.
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

/**
 * Whether a stream has a link or notice: notices are in all, and links by the CRC-32 (ISO 3309) of
 * domain and alias.
 */
export const isInStream = ({ index, count }: LinksStream, link: ShortLink): boolean =>
  count === 1 || isNotice(link) || Bun.hash.crc32(keyOf(link)) % count === index;

/**
 * A value of `LINKS_STREAMS`: the number of streams of the feed that redirectors follow, and after
 * a comma that of a second feed, while the number changes.
 */
export const envLinksStreams = envList("1")
  .pipe(z.array(z.enum(COUNTS, "must be 1 or 4, or both while that changes")).min(1))
  .transform((counts) => {
    const [followed = [], ...others] = [...new Set(counts)].map((n) => linksStreams(Number(n)));
    return { followed, published: [...followed, ...others.flat()] };
  });

export type LinksStreams = z.output<typeof envLinksStreams>;
