/** What is said of a stream `LINKS` that does not have every link. */
import { LINKS_STREAM } from "../../shared/contracts/streams.ts";
import type { Sql } from "../postgres.ts";
import { lacksAccounts, selectFeed } from "./sql.ts";

/** An empty database in place of the right one must not withdraw every link. */
export const OTHER_DATABASE = `PostgreSQL has no account, and the stream ${LINKS_STREAM} has links, which stay as they are: mount the disk of the right database, or restore it; to begin anew, delete the stream`;

export const describeIncompleteness = (filledLinks: number): string =>
  `the stream ${LINKS_STREAM} lacks links: ${filledLinks} have been published again so far`;

/** Says what API processes have found wrong with the stream and not mended yet; undefined when nothing is. */
export async function findIncompleteness(sql: Sql): Promise<string | undefined> {
  const { incomplete_since, filled_links } = await selectFeed(sql);
  if (incomplete_since === null) return undefined;
  return (await lacksAccounts(sql)) ? OTHER_DATABASE : describeIncompleteness(filled_links);
}
