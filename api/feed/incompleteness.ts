/** Messages about streams of the links feed that lack links. */
import type { Sql } from "../postgres.ts";
import { lacksAccounts, selectFeeds } from "./sql.ts";

/** An empty database in place of the right one must not cause every link to be withdrawn. */
export const describeOtherDatabase = (stream: string): string =>
  `PostgreSQL has no account, and the stream ${stream} has links, which stay as they are: mount the disk of the right database, or restore it; to start again, delete the stream`;

export const describeIncompleteness = (stream: string, filledLinks: number): string =>
  `the stream ${stream} lacks links: ${filledLinks} have been published again so far`;

/**
 * Describes the problems of streams that API processes have found and not repaired yet; undefined
 * for none.
 */
export async function findIncompleteness(sql: Sql): Promise<string | undefined> {
  const lacking = (await selectFeeds(sql)).filter((feed) => feed.incomplete_since !== null);
  if (lacking.length === 0) return undefined;
  const isOtherDatabase = await lacksAccounts(sql);
  const describe = ({ name, filled_links }: (typeof lacking)[number]): string =>
    isOtherDatabase ? describeOtherDatabase(name) : describeIncompleteness(name, filled_links);
  return lacking.map(describe).join("; ");
}
