/**
 * Fills a stream of the links feed from PostgreSQL, whatever it holds: publishes takedowns, domains and links under versions that
 * redirectors take over from later states that they know, and withdraws what PostgreSQL does not have.
 *
 * All links get one version, the epoch. Every change with a lower one has been committed before the first link is read,
 * so what is read is at least as new as what was published under lower versions; every change with a higher one replaces
 * what the filling publishes, and is not replaced by it.
 */
import { DOMAIN_ALIAS, isNotice } from "../../../shared/contracts/feed-notices.ts";
import { type LinkMessage, toMessage } from "../../../shared/contracts/link-record.ts";
import { isInStream } from "../../../shared/contracts/links-streams.ts";
import { linkSubject, shortLinkOfSubject } from "../../../shared/contracts/streams.ts";
import { renewDomainNotices, withdrawNotices } from "../../domains/notices.ts";
import { DamagedStreamError, type Filling, type FillStream } from "../../feed/filling.ts";
import type { LinkPublisher } from "../../feed/link-publisher.ts";
import { readRemaining } from "../../feed/remaining.ts";
import type { Sql } from "../../postgres.ts";
import { renewTakedownNotice } from "../../takedowns/service.ts";
import type { LinkRow } from "../model.ts";
import { shortLinkOf, sizeProblem, toRecord } from "../record.ts";
import {
  findHotLinks,
  findInOrder,
  findServedAliases,
  findServedLinks,
  type ShortLink,
} from "./sql.ts";

/** Links that are read at once. Requests wait for no more than what is done with these: some 20 ms. */
const BATCH = 500;

/** Links that are published first, as most visitors want one of them. */
const HOT_LINKS = 10_000;

/** A stream with fewer messages is as good as empty: what its links follow need not be looked up. */
const FEW_MESSAGES = 1_000;

/** How often the number of links so far is recorded. */
const PROGRESS_MS = 250;

type FillingDeps = {
  sql: Sql;
  feed: Pick<LinkPublisher, "publishMany" | "publishStates">;
};

/** Creates the function that fills the stream; it may be repeated at any time, also beside requests. */
export const createFillStream =
  (deps: FillingDeps): FillStream =>
  async (filling) => {
    // First, so that no redirector follows what is taken down.
    if (!(await deps.feed.publishMany([await renewTakedownNotice(deps.sql)]))) return false;
    for await (const notices of renewDomainNotices(deps.sql))
      if (filling.isStopped() || !(await deps.feed.publishMany(notices))) return false;
    const unfit = new Set<string>();
    if (!(await publishLinks(deps, filling, unfit))) return false;
    if (!(await replaceRemaining(deps, filling))) return false;
    const left = await countRemaining(filling, unfit);
    if (left > 0) throw new DamagedStreamError(filling.stream.name, left);
    return true;
  };

/** Publishes all links that redirect, except those whose records have become too large: they stay as they are (`unfit`). */
async function publishLinks(
  { sql, feed }: FillingDeps,
  { stream, epoch, messages, onProgress, isStopped }: Filling,
  unfit: Set<string>,
): Promise<boolean> {
  let count = 0;
  let recordedAt = performance.now();

  const toSubject = (link: LinkRow): string => {
    const { domain, alias } = shortLinkOf(link);
    return linkSubject(domain, alias, stream);
  };

  async function publish(read: readonly LinkRow[]): Promise<boolean> {
    const links = read.filter((link) => isInStream(stream, shortLinkOf(link)));
    for (const link of links) if (!fits(link)) unfit.add(toSubject(link));
    const states = links.filter(fits).map((link) => toState(link, epoch));
    if (!(await feed.publishStates(states, messages < FEW_MESSAGES, stream))) return false;
    count += links.length;
    if (performance.now() - recordedAt < PROGRESS_MS) return true;
    await onProgress(count);
    recordedAt = performance.now();
    return true;
  }

  const hottest = await findHotLinks(sql, HOT_LINKS);
  const hot = new Set(hottest);
  for (let start = 0; start < hottest.length; start += BATCH) {
    const links = await findInOrder(sql, hottest.slice(start, start + BATCH));
    if (isStopped() || !(await publish(links.filter(({ served }) => served)))) return false;
  }
  let reading = findServedLinks(sql, null, BATCH);
  for (;;) {
    const links = await reading;
    const last = links.at(-1);
    if (last === undefined) break;
    // While these are published, the next are read.
    reading = findServedLinks(sql, last.id, BATCH);
    reading.catch(() => undefined);
    if (isStopped() || !(await publish(links.filter(({ id }) => !hot.has(id))))) return false;
  }
  await onProgress(count);
  return true;
}

const fits = (link: LinkRow): boolean => sizeProblem(link) === undefined;

const toState = (link: LinkRow, epoch: number): LinkMessage =>
  toMessage({ ...toRecord(link), version: epoch });

/** Whether a subject is a link's: not that of the heartbeat, which may not have come again yet, or of a notice. */
function isLinkSubject(subject: string): boolean {
  const link = shortLinkOfSubject(subject);
  return link !== undefined && !isNotice(link);
}

/**
 * Withdraws the short links and settings of domains that the stream has and PostgreSQL does not; false as above. All others
 * have been published again, so they are not among what the stream still has from before.
 */
const replaceRemaining = (
  { sql, feed }: FillingDeps,
  { epoch, isStopped, ...filling }: Filling,
): Promise<boolean> =>
  readRemaining(filling, filling.end, async (subjects) => {
    if (isStopped()) return false;
    const names = subjects.flatMap((subject) => shortLinkOfSubject(subject) ?? []);
    const links = names.filter((name) => !isNotice(name));
    const strays = await findStrays(sql, links);
    const deletions = strays.map((name): LinkMessage => ({
      state: "deleted",
      version: epoch,
      ...name,
    }));
    const hosts = names.filter(({ alias }) => alias === DOMAIN_ALIAS).map(({ domain }) => domain);
    const notices = await sql.begin((transaction) => withdrawNotices(transaction, hosts));
    return (
      (await feed.publishStates(deletions, false, filling.stream)) &&
      (await feed.publishMany(notices))
    );
  });

/** Counts links that the stream has from before though they were replaced: the server no longer knows what it has. */
async function countRemaining(filling: Filling, unfit: ReadonlySet<string>): Promise<number> {
  let count = 0;
  await readRemaining(filling, filling.end, (subjects) => {
    count += subjects.filter((subject) => isLinkSubject(subject) && !unfit.has(subject)).length;
    return Promise.resolve(true);
  });
  return count;
}

/** Returns those of short links that no link has. */
async function findStrays(sql: Sql, links: readonly ShortLink[]): Promise<ShortLink[]> {
  const strays: ShortLink[] = [];
  for (const [domain, names] of Map.groupBy(links, (link) => link.domain)) {
    const aliases = names.map(({ alias }) => alias);
    const served = await findServedAliases(sql, domain, aliases);
    strays.push(...names.filter(({ alias }) => !served.has(alias)));
  }
  return strays;
}
