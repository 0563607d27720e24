/**
 * Fills a stream of the links feed from PostgreSQL, whatever it holds. Publishes takedowns, domains
 * and links under versions above all states that redirectors may hold, and withdraws what
 * PostgreSQL does not have.
 * All links get one version, the epoch. Every change with a lower version was committed before the
 * first link is read, so the links read are at least as recent as the states published under lower
 * versions. A change with a higher version replaces the fill's state, and the fill never replaces
 * it.
 */
import { DOMAIN_ALIAS, isNotice } from "../../../shared/contracts/feed-notices.ts";
import { type LinkMessage, toMessage } from "../../../shared/contracts/link-record.ts";
import { isInStream } from "../../../shared/contracts/links-streams.ts";
import type { ShortLink } from "../../../shared/contracts/short-link.ts";
import { linkSubject, shortLinkOfSubject } from "../../../shared/contracts/streams.ts";
import { renewDomainNotices, withdrawNotices } from "../../domains/notices.ts";
import { DamagedStreamError, type FillInput, type FillStream } from "../../feed/filling.ts";
import type { LinkPublisher } from "../../feed/link-publisher.ts";
import { readRemaining } from "../../feed/remaining.ts";
import type { Sql } from "../../postgres.ts";
import { renewTakedownNotice } from "../../takedowns/service.ts";
import type { LinkRow } from "../model.ts";
import { shortLinkOf, sizeProblem, toRecord } from "../record.ts";
import { findHotLinks, findInOrder, findServedAliases, findServedLinks } from "./sql.ts";

/** Links read at once. Processing them delays requests by at most about 20 ms. */
const BATCH = 500;

/** Links that are published first, because most visitors request one of them. */
const HOT_LINKS = 10_000;

/**
 * A stream with fewer messages counts as empty: the last messages of its subjects are not looked
 * up.
 */
const FEW_MESSAGES = 1_000;

/** How often the number of published links is recorded. */
const PROGRESS_MS = 250;

type FillingDeps = {
  sql: Sql;
  feed: Pick<LinkPublisher, "publish" | "publishStates">;
};

/**
 * Creates the function that fills the stream. It may be repeated at any time, also while requests
 * are served.
 */
export const createFillStream =
  (deps: FillingDeps): FillStream =>
  async (filling) => {
    // First, so that no redirector serves a link that is taken down.
    if (!(await deps.feed.publish([await renewTakedownNotice(deps.sql)]))) return false;
    for await (const notices of renewDomainNotices(deps.sql))
      if (filling.isStopped() || !(await deps.feed.publish(notices))) return false;
    const unfit = new Set<string>();
    if (!(await publishLinks(deps, filling, unfit))) return false;
    if (!(await replaceRemaining(deps, filling))) return false;
    const left = await countRemaining(filling, unfit);
    if (left > 0) throw new DamagedStreamError(filling.stream.name, left);
    return true;
  };

/**
 * Publishes all links that redirect, except those whose records have become too large: they stay
 * unchanged (`unfit`).
 */
async function publishLinks(
  { sql, feed }: FillingDeps,
  { stream, epoch, messages, onProgress, isStopped }: FillInput,
  unfit: Set<string>,
): Promise<boolean> {
  let count = 0;
  let recordedAt = performance.now();

  const toSubject = (link: LinkRow): string => linkSubject(shortLinkOf(link), stream);

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
    // Reads the next links while these are published.
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

/**
 * Whether a subject belongs to a link, rather than to a notice or the heartbeat, whose next message
 * may still be missing.
 */
function isLinkSubject(subject: string): boolean {
  const link = shortLinkOfSubject(subject);
  return link !== undefined && !isNotice(link);
}

/**
 * Withdraws short links and domain settings that the stream has and PostgreSQL lacks. Returns false
 * when stopped or interrupted. All others have been published again, so they are not among the
 * stream's earlier messages.
 */
const replaceRemaining = (
  { sql, feed }: FillingDeps,
  { epoch, isStopped, ...filling }: FillInput,
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
      (await feed.publishStates(deletions, false, filling.stream)) && (await feed.publish(notices))
    );
  });

/**
 * Counts links whose earlier messages remain although they were replaced, which means that the
 * server's index is inconsistent.
 */
async function countRemaining(filling: FillInput, unfit: ReadonlySet<string>): Promise<number> {
  let count = 0;
  await readRemaining(filling, filling.end, (subjects) => {
    count += subjects.filter((subject) => isLinkSubject(subject) && !unfit.has(subject)).length;
    return Promise.resolve(true);
  });
  return count;
}

/** Returns the short links that no link has. */
async function findStrays(sql: Sql, links: readonly ShortLink[]): Promise<ShortLink[]> {
  const strays: ShortLink[] = [];
  for (const [domain, names] of Map.groupBy(links, (link) => link.domain)) {
    const aliases = names.map(({ alias }) => alias);
    const served = await findServedAliases(sql, domain, aliases);
    strays.push(...names.filter(({ alias }) => !served.has(alias)));
  }
  return strays;
}
