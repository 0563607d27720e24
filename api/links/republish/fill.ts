/**
 * Fills the stream `LINKS` from PostgreSQL, whatever it holds: publishes takedowns, domains and links under new versions,
 * so that redirectors take them over from later states that they know, and withdraws what PostgreSQL does not have.
 */
import type { NatsConnection } from "nats";

import { DOMAIN_ALIAS, isNotice } from "../../../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../../../shared/contracts/link-record.ts";
import { shortLinkOfSubject } from "../../../shared/contracts/streams.ts";
import type { Uuid } from "../../../shared/ids.ts";
import { renewDomainNotices, withdrawNotices } from "../../domains/notices.ts";
import type { FillStream } from "../../feed/feed-watch.ts";
import { listSubjects } from "../../feed/subjects.ts";
import type { Transaction } from "../../postgres.ts";
import { republishTakedowns } from "../../takedowns/service.ts";
import { drawVersions, enqueue } from "../bulk/enqueue.ts";
import { sizeProblem } from "../record.ts";
import {
  type Batch,
  publishBatches,
  type PublishingDeps,
  renewVersions,
  toRenewedRecord,
} from "./batches.ts";
import { findServedAliases, lockServedLinks } from "./sql.ts";

/** Links of one transaction, which holds the locks of their aliases. */
const BATCH = 500;

type ShortLink = { domain: string; alias: string };

/** Creates the function that fills the stream; it may be repeated at any time, also beside requests. */
export const createFillStream =
  ({ sql, feed }: PublishingDeps): FillStream =>
  async (connection, onProgress, isStopped) => {
    // First, so that no redirector follows what is taken down.
    if (!(await republishTakedowns(sql))) return false;
    if (!(await publishInParts(feed, await renewDomainNotices(sql)))) return false;
    const isPublished = await publishBatches({ sql, feed }, isStopped, renewBatch, {
      size: BATCH,
      onPublished: onProgress,
    });
    return isPublished && (await withdrawStrays({ sql, feed }, connection, isStopped));
  };

async function publishInParts(
  feed: PublishingDeps["feed"],
  entries: Parameters<PublishingDeps["feed"]["publishMany"]>[0],
): Promise<boolean> {
  for (let start = 0; start < entries.length; start += BATCH)
    if (!(await feed.publishMany(entries.slice(start, start + BATCH)))) return false;
  return true;
}

/** Gives the next links new versions, and adds them to the outbox. */
async function renewBatch(transaction: Transaction, after: Uuid | null): Promise<Batch> {
  const links = await renewVersions(transaction, await lockServedLinks(transaction, after, BATCH));
  // A link whose record has become too large stays as it is published.
  const fitting = links.filter((link) => sizeProblem(link) === undefined);
  return { links, parts: [await enqueue(transaction, fitting.map(toRenewedRecord))] };
}

/** Withdraws the short links and settings of domains that the stream has and PostgreSQL does not; false as above. */
async function withdrawStrays(
  { sql, feed }: PublishingDeps,
  connection: NatsConnection,
  isStopped: () => boolean,
): Promise<boolean> {
  for await (const subjects of listSubjects(connection)) {
    const names = subjects.flatMap((subject) => shortLinkOfSubject(subject) ?? []);
    for (let start = 0; start < names.length; start += BATCH) {
      if (isStopped()) return false;
      const part = names.slice(start, start + BATCH);
      const entries = await sql.begin((transaction) => withdrawPart(transaction, part));
      if (!(await feed.publishMany(entries))) return false;
    }
  }
  return true;
}

async function withdrawPart(transaction: Transaction, names: readonly ShortLink[]) {
  const links = names.filter((name) => !isNotice(name));
  const strays = await findStrays(transaction, links);
  const versions = await drawVersions(transaction, strays, strays.length);
  // Once more, under the locks of the aliases: one may have been taken meanwhile.
  const certain = new Set(await findStrays(transaction, strays));
  const deletions = strays.flatMap((name, i): LinkRecord[] =>
    certain.has(name) ? [{ state: "deleted", version: versions[i] ?? 0, ...name }] : [],
  );
  const hosts = names.filter(({ alias }) => alias === DOMAIN_ALIAS).map(({ domain }) => domain);
  const notices = await withdrawNotices(transaction, hosts);
  return [...(await enqueue(transaction, deletions)), ...notices];
}

/** Returns those of short links that no link has. */
async function findStrays(
  transaction: Transaction,
  links: readonly ShortLink[],
): Promise<ShortLink[]> {
  const strays: ShortLink[] = [];
  for (const [domain, names] of Map.groupBy(links, (link) => link.domain)) {
    const aliases = names.map(({ alias }) => alias);
    const served = await findServedAliases(transaction, domain, aliases);
    strays.push(...names.filter(({ alias }) => !served.has(alias)));
  }
  return strays;
}
