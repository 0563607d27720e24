/** Statements on the tables of YOURLS, in MariaDB or MySQL, whose prefix was checked. */
import type { SQL } from "bun";

/** Most characters of a URL and of a title: a column of theirs may have 64 KiB, and no link has. */
const URL_LENGTH_MAX = 10_000;
const TITLE_LENGTH_MAX = 1_000;

/** Times as they are in the tables, without a zone. */
const TIME = "'%Y-%m-%d %H:%i:%s'";

export type YourlsLink = { keyword: string; url: string; title: string | null; created: string };

/** Reads the next links after one, in the order of their creation. */
export async function readYourlsLinks(
  sql: SQL,
  prefix: string,
  after: { created: string; keyword: string } | null,
  max: number,
): Promise<YourlsLink[]> {
  const values = after === null ? [] : [after.created, after.created, after.keyword];
  return await sql.unsafe<YourlsLink[]>(
    `select keyword, left(url, ${URL_LENGTH_MAX}) as url, left(title, ${TITLE_LENGTH_MAX}) as title,
            date_format(timestamp, ${TIME}) as created
       from \`${prefix}url\`
      ${after === null ? "" : "where timestamp >= ? and (timestamp > ? or keyword > ?)"}
      order by timestamp, keyword limit ${max}`,
    values,
  );
}

export type YourlsVisit = {
  click_id: number;
  at: string;
  shorturl: string;
  referrer: string;
  user_agent: string;
  ip_address: string;
  country_code: string;
};

/** Reads the next visits after one, in their order. */
export const readYourlsVisits = async (
  sql: SQL,
  prefix: string,
  after: number,
  max: number,
): Promise<YourlsVisit[]> =>
  await sql.unsafe<YourlsVisit[]>(
    `select click_id, date_format(click_time, ${TIME}) as at, shorturl, referrer, user_agent,
            ip_address, country_code
       from \`${prefix}log\`
      where click_id > ? order by click_id limit ${max}`,
    [after],
  );
