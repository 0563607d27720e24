/** SQL statements on the queue of links that an operator should look at. */
import type { Uuid } from "../../shared/ids.ts";
import type { LinkSettings } from "../links/settings.ts";
import type { Sql, Transaction } from "../postgres.ts";

export type Verdict = "kept" | "taken_down";

/** Adds a link to the queue; one about which somebody has decided as it is stays out of it. */
export async function addReview(sql: Sql | Transaction, linkId: Uuid, list: string): Promise<void> {
  await forgetOutdated(sql, linkId);
  await sql`
    insert into link_reviews (link_id, list) values (${linkId}, ${list})
    on conflict (link_id) do update set list = excluded.list`;
}

/** Reports of a link that are kept: one more says nothing new. */
const REPORTS_MAX = 20;

/** As {@link addReview}, with the reason of a visitor; false when the link is gone. */
export async function addReport(sql: Sql, linkId: Uuid, reason: string): Promise<boolean> {
  await forgetOutdated(sql, linkId);
  const { count } = await sql`
    insert into link_reviews as review (link_id, reports)
    select id, array[${reason}::text] from links where id = ${linkId}
    on conflict (link_id) do update set reports = (review.reports || excluded.reports)[:${REPORTS_MAX}]`;
  return count > 0;
}

/** Forgets a decision about a link that has been changed since, and may lead elsewhere. */
async function forgetOutdated(sql: Sql | Transaction, linkId: Uuid): Promise<void> {
  await sql`
    delete from link_reviews review using links link
     where review.link_id = ${linkId} and link.id = review.link_id
       and review.decided_version <> link.version and link.taken_down is not true`;
}

/** A link in the queue. */
export type Review = {
  link_id: Uuid;
  account_id: Uuid;
  host: string | null;
  alias: string;
  target_url: string;
  list: string | null;
  reports: string[];
  created_at: Date;
  verdict: Verdict | null;
};

/** Lists the queue, the newest first; those that are decided as well, if `all`. */
export const listReviews = (sql: Sql, all: boolean, limit: number): Promise<Review[]> =>
  sql<Review[]>`
    select link_id, link.account_id, domain.host, link.alias, link.target_url, review.list,
           review.reports, review.created_at, review.verdict
      from link_reviews review
      join links link on link.id = review.link_id
      left join domains domain on domain.id = link.domain_id
     where ${all} or review.verdict is null
     order by review.created_at desc, review.link_id limit ${limit}`;

/** The name of a link in the queue; undefined if it is not there. */
export async function findReviewed(
  sql: Sql,
  linkId: Uuid,
): Promise<{ host: string | null; alias: string } | undefined> {
  const [row] = await sql<{ host: string | null; alias: string }[]>`
    select domain.host, link.alias
      from links link left join domains domain on domain.id = link.domain_id
     where link.id = ${linkId} and exists (select from link_reviews where link_id = link.id)`;
  return row;
}

/** Decides about a link in the queue, as it is now. */
export async function setVerdict(sql: Transaction, linkId: Uuid, verdict: Verdict): Promise<void> {
  await sql`
    update link_reviews set verdict = ${verdict}, decided_version = link.version
      from links link where link_id = ${linkId} and link.id = link_id`;
}

/** How far the links were compared with lists. */
export type Sweep = { lists: string; changed_at: Date; link_id: Uuid | null; done: boolean };

/** Reads that for one process at a time; undefined while another one compares. */
export async function lockSweep(sql: Transaction): Promise<Sweep | undefined> {
  const [row] = await sql<Sweep[]>`
    select lists, changed_at, link_id, done from host_list_sweep for update skip locked`;
  return row;
}

export async function saveSweep(sql: Transaction, sweep: Sweep): Promise<void> {
  await sql`update host_list_sweep set ${sql(sweep)}`;
}

/** A link to compare: its name, its destination, and all else that has URLs. */
export type Compared = {
  id: Uuid;
  host: string | null;
  alias: string;
  target_url: string;
  extras: LinkSettings | null;
};

/** Links after one, in the order of their ids. */
export const listCompared = (
  sql: Transaction,
  after: Uuid | null,
  limit: number,
): Promise<Compared[]> =>
  sql<Compared[]>`
    select link.id, domain.host, link.alias, link.target_url, link.extras
      from links link left join domains domain on domain.id = link.domain_id
     where ${after}::uuid is null or link.id > ${after}
     order by link.id limit ${limit}`;
