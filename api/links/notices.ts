/**
 * Notices what happens to links by itself: their expiry, and their last click. One process at a
 * time; what it notices, and up to where it has looked, is written in one transaction, so each is
 * recorded once, whatever stops.
 */
import type { EventType } from "../../shared/contracts/webhook-schemas.ts";
import { recordAll } from "../events/record.ts";
import { SYSTEM } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { linkEvent } from "./events.ts";
import type { LinkRow } from "./model.ts";
import {
  endLimitChecks,
  findExpired,
  findLimitChecks,
  type LimitCheck,
  lockNotices,
  noteLimit,
  recordExpired,
} from "./notices-sql.ts";
import { clicksLeft } from "./settings.ts";
import { findLinksInOrder } from "./sql.ts";
import type { UsedClicks } from "./used-clicks.ts";

/** Links that one run notices of each kind; the next run goes on. */
const EXPIRED_MAX = 500;
const CHECKED_MAX = 500;

/** Used clicks that are read from NATS at a time. */
const READS_AT_ONCE = 50;

/** How late an expiry is noticed: longer than a statement may take to write it. */
const DELAY_SECONDS = 10;

/**
 * A link whose clicks have not changed for this long is not at its limit: redirectors report what
 * they have used within two seconds.
 */
const SETTLED_SECONDS = 15;

/**
 * Notices what has happened since the last run, unless another process is doing so. `shortUrl` is
 * the origin of short links.
 */
export async function noticeEvents(
  sql: Sql,
  usedClicks: UsedClicks,
  shortUrl: string,
): Promise<void> {
  await sql.begin(async (lock) => {
    if (!(await lockNotices(lock))) return;
    await noticeExpired(sql, shortUrl);
    await noticeLimits(sql, usedClicks, shortUrl);
  });
}

async function noticeExpired(sql: Sql, shortUrl: string): Promise<void> {
  await sql.begin(async (transaction) => {
    const expired = await findExpired(transaction, DELAY_SECONDS, EXPIRED_MAX);
    const last = expired.at(-1);
    if (last === undefined) return;
    const ids = expired.map(({ id }) => id);
    const links = await findLinksInOrder(transaction, ids);
    await recordAll(
      transaction,
      links.map((link) => noticed("link.expired", link, shortUrl)),
    );
    await recordExpired(transaction, last);
  });
}

/** The event of a link that nobody caused. */
const noticed = (type: EventType, link: LinkRow, shortUrl: string) => ({
  ...linkEvent(type, link, shortUrl),
  accountId: link.account_id,
  mode: link.mode,
  actor: SYSTEM,
});

async function noticeLimits(sql: Sql, usedClicks: UsedClicks, shortUrl: string): Promise<void> {
  const checks = await findLimitChecks(sql, CHECKED_MAX);
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
    // As they are when all clicks are used.
    const row = { ...link, used_clicks: max };
    await recordAll(transaction, [noticed("link.limit_reached", row, shortUrl)]);
  });
}
