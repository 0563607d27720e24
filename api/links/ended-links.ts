/**
 * Records the events of links that have ended: which have expired, or whose click limit is reached.
 * One process at a time does so. An event and the note that it is recorded are written in one
 * transaction, so each end is recorded once, even if the process dies.
 */
import type { EventType } from "../../shared/contracts/webhook-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";
import { recordAll } from "../events/record.ts";
import { SYSTEM } from "../http/principal.ts";
import { type Sql, type Transaction, tryToLock } from "../postgres.ts";
import { linkEvent } from "./events.ts";
import type { LinkRow } from "./model.ts";
import { clicksLeft } from "./settings.ts";
import { findLinksInOrder } from "./sql.ts";
import type { UsedClicks } from "./used-clicks.ts";

/** Maximum links of one run; the next run continues. */
const EXPIRED_MAX = 500;
const CHECKED_MAX = 500;

/** Used clicks that are read from NATS at a time. */
const READS_AT_ONCE = 50;

/**
 * How late an expiry is recorded: longer than a statement may take that sets one, so none is
 * committed behind the progress.
 */
const DELAY_SECONDS = 10;

/**
 * A link whose clicks have not changed for this long is not at its limit: redirectors report what
 * they have used within two seconds.
 */
const SETTLED_SECONDS = 15;

/**
 * Records what has ended since the last run, unless another process is doing so. `shortUrl` is the
 * origin of short links.
 */
export async function recordEndedLinks(
  sql: Sql,
  usedClicks: UsedClicks,
  shortUrl: string,
): Promise<void> {
  await sql.begin(async (lock) => {
    if (!(await tryToLock(lock, "ended_links"))) return;
    await recordExpired(sql, shortUrl);
    await recordLimits(sql, usedClicks, shortUrl);
  });
}

async function recordExpired(sql: Sql, shortUrl: string): Promise<void> {
  await sql.begin(async (transaction) => {
    const expired = await findExpired(transaction);
    const last = expired.at(-1);
    if (last === undefined) return;
    const ids = expired.map(({ id }) => id);
    const links = await findLinksInOrder(transaction, ids);
    await recordAll(
      transaction,
      links.map((link) => endEvent("link.expired", link, shortUrl)),
    );
    await transaction`
      update event_progress set reached_at = ${last.expires_at}, link_id = ${last.id} where name = 'expiry'`;
  });
}

/** The event of an end, which nobody caused. */
const endEvent = (type: EventType, link: LinkRow, shortUrl: string) => ({
  ...linkEvent(type, link, shortUrl),
  accountId: link.account_id,
  mode: link.mode,
  actor: SYSTEM,
});

async function recordLimits(sql: Sql, usedClicks: UsedClicks, shortUrl: string): Promise<void> {
  const checks = await findLimitChecks(sql);
  const ids = checks.map(({ link_id }) => link_id);
  const links = new Map((await findLinksInOrder(sql, ids)).map((link) => [link.id, link]));
  const ended: LimitCheck[] = [];
  for (let i = 0; i < checks.length; i += READS_AT_ONCE) {
    const some = checks.slice(i, i + READS_AT_ONCE);
    const reached = await Promise.all(
      some.map((check) => isReached(usedClicks, links.get(check.link_id))),
    );
    for (const [j, check] of some.entries()) {
      const link = links.get(check.link_id);
      if (reached[j] === true && link !== undefined) await recordLimit(sql, link, shortUrl);
      // Unknown while NATS does not respond.
      if (reached[j] === true || (reached[j] === false && check.age > SETTLED_SECONDS))
        ended.push(check);
    }
  }
  await endLimitChecks(sql, ended);
}

/** Whether the limit of a link is used up; undefined while that is not known. */
async function isReached(
  usedClicks: UsedClicks,
  link: LinkRow | undefined,
): Promise<boolean | undefined> {
  const ledger = link?.extras?.ledger;
  if (link === undefined || ledger === undefined) return false;
  if (clicksLeft(link) === 0) return true;
  const used_clicks = await usedClicks.read(ledger);
  return used_clicks === undefined ? undefined : clicksLeft({ ...link, used_clicks }) === 0;
}

async function recordLimit(sql: Sql, link: LinkRow, shortUrl: string): Promise<void> {
  const { ledger, max_clicks: max } = link.extras ?? {};
  if (ledger === undefined || max === undefined) return;
  await sql.begin(async (transaction) => {
    if (!(await noteLimit(transaction, link.id, { ledger: ledger.id, max }))) return;
    // The link as it is when its limit is reached.
    const row = { ...link, used_clicks: max };
    await recordAll(transaction, [endEvent("link.limit_reached", row, shortUrl)]);
  });
}

/** Finds the links that expired since the last run, the earliest first; locks the progress. */
async function findExpired(transaction: Transaction): Promise<{ id: Uuid; expires_at: Date }[]> {
  return await transaction<{ id: Uuid; expires_at: Date }[]>`
    with progress as materialized (
      select reached_at, coalesce(link_id, '00000000-0000-0000-0000-000000000000') as link_id
        from event_progress where name = 'expiry' for update
    )
    select id, expires_at from links
     where expires_at is not null
       and (expires_at, id) > ((select reached_at from progress), (select link_id from progress))
       and expires_at <= clock_timestamp() - make_interval(secs => ${DELAY_SECONDS})
     order by expires_at, id limit ${EXPIRED_MAX}`;
}

/** A link whose limit may be reached, and since when its clicks have not changed, in seconds. */
type LimitCheck = { link_id: Uuid; changed_at: Date; age: number };

/** Links whose limits are to be checked, those that have waited longest first. */
const findLimitChecks = async (sql: Sql): Promise<LimitCheck[]> =>
  await sql<LimitCheck[]>`
    select link_id, changed_at, extract(epoch from clock_timestamp() - changed_at)::float8 as age
      from limit_checks where changed_at is not null
     order by changed_at limit ${CHECKED_MAX}`;

/** Ends the checks of links whose clicks have not changed since; deletes those of deleted links. */
async function endLimitChecks(sql: Sql, checks: readonly LimitCheck[]): Promise<void> {
  if (checks.length === 0) return;
  const ids = checks.map(({ link_id }) => link_id);
  await sql`
    update limit_checks due set changed_at = null
      from unnest(${ids}::uuid[], ${checks.map(({ changed_at }) => changed_at.toISOString())}::timestamptz[]) seen (link_id, changed_at)
     where due.link_id = seen.link_id and due.changed_at = seen.changed_at`;
  await sql`
    delete from limit_checks due where link_id = any (${ids}::uuid[])
       and not exists (select from links where id = due.link_id)`;
}

/**
 * Notes that a limit is reached. Returns false when that was noted of this limit before, or when
 * the link was deleted.
 */
async function noteLimit(
  transaction: Transaction,
  linkId: Uuid,
  limit: { ledger: Uuid; max: number },
): Promise<boolean> {
  const { count } = await transaction`
    update limit_checks set noticed_ledger = ${limit.ledger}, noticed_max = ${limit.max}
     where link_id = ${linkId}
       and (noticed_ledger, noticed_max) is distinct from (${limit.ledger}::uuid, ${limit.max}::bigint)`;
  return count > 0;
}
