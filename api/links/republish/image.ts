/**
 * Builds an image of the links store from PostgreSQL, beside requests and changes: the position in the feed is read
 * first, so that whatever is committed after a link was read is published behind that position.
 */
import { Database } from "bun:sqlite";

import type { JetStreamManager } from "nats";

import { DOMAIN_ALIAS, TAKEDOWNS_ALIAS } from "../../../shared/contracts/feed-notices.ts";
import {
  decodeLinkRecord,
  DEFAULT_DOMAIN,
  encodeLinkRecord,
} from "../../../shared/contracts/link-record.ts";
import {
  decodeLinkMessage,
  jetStreamErrorCode,
  LINKS_STREAM,
  linkSubject,
  NO_MESSAGE,
} from "../../../shared/contracts/streams.ts";
import type { ImagePosition } from "../../../shared/links-store/images.ts";
import {
  type Change,
  EMPTY_FEED,
  preparePut,
  SCHEMA,
  setFeed,
  toChange,
} from "../../../shared/links-store/schema.ts";
import { readPosition } from "../../feed/position.ts";
import type { Sql } from "../../postgres.ts";
import type { LinkRow } from "../model.ts";
import { shortLinkOf, sizeProblem, toRecord } from "../record.ts";
import { findServedDomains, findServedLinksOf, type ServedDomain, type ShortLink } from "./sql.ts";

/** Links of one turn of the event loop, which takes some milliseconds. */
const BATCH = 200;

type Source = { sql: Sql; manager: JetStreamManager; isStopped: () => boolean };

/**
 * Writes all links and notices to a file; returns their number and the position. Undefined when stopped, or while the stream lacks
 * links or is being filled: then no position is one behind which all that follows is published.
 */
export async function buildImage(
  source: Source,
  path: string,
): Promise<({ links: number } & ImagePosition) | undefined> {
  const position = await readPosition(source.sql, source.manager);
  if (position === undefined) return undefined;
  using db = new Database(path, { create: true, readwrite: true, strict: true });
  // One that is not finished is thrown away.
  db.run("PRAGMA journal_mode = OFF");
  db.run("PRAGMA synchronous = OFF");
  db.run(SCHEMA);
  const write = preparePut(db);
  let written = 0;
  const put = (change: Change): void => void (written += write(change).links);
  db.run("BEGIN");
  const { sql, manager, isStopped } = source;
  let count = 0;
  const own = { id: null, host: DEFAULT_DOMAIN };
  for (const domain of [own, ...(await findServedDomains(sql))]) {
    for (const alias of [TAKEDOWNS_ALIAS, DOMAIN_ALIAS])
      (await readChanges(manager, { domain: domain.host, alias })).forEach(put);
    for await (const links of readLinks(sql, domain)) {
      if (isStopped()) return undefined;
      for (const link of links) {
        const change = toImageRow(link, position.epoch);
        // Its record has become too large: the feed has an earlier one.
        if (change === undefined) (await readChanges(manager, shortLinkOf(link))).forEach(put);
        else put(change);
      }
      count += links.length;
    }
  }
  setFeed(db, { ...EMPTY_FEED, ...position, complete: true }, written);
  db.run("COMMIT");
  return { ...position, links: count };
}

/** The links of a domain, by alias: rows that come in order are written fast. */
async function* readLinks(sql: Sql, { id }: Pick<ServedDomain, "id">): AsyncGenerator<LinkRow[]> {
  for (let after = ""; ;) {
    const links = await findServedLinksOf(sql, id, after, BATCH);
    if (links.length > 0) yield links;
    after = links.at(-1)?.alias ?? "";
    if (links.length < BATCH) return;
  }
}

/** The row of a link, as if a redirector had read it from the feed; undefined when it is too large for that. */
function toImageRow(link: LinkRow, epoch: number): Change | undefined {
  if (sizeProblem(link) !== undefined) return undefined;
  const message = encodeLinkRecord({
    ...toRecord(link),
    // Links of lower versions were published under the epoch.
    version: Math.max(link.version, epoch),
  });
  const record = decodeLinkRecord(message);
  return record === undefined ? undefined : toChange(record, message);
}

/** What the feed has of a link or notice now. */
async function readChanges(manager: JetStreamManager, name: ShortLink): Promise<Change[]> {
  try {
    const subject = linkSubject(name.domain, name.alias);
    const { data } = await manager.streams.getMessage(LINKS_STREAM, { last_by_subj: subject });
    const record = decodeLinkMessage(subject, data);
    return record === undefined ? [] : [toChange(record, data)];
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return [];
    throw error;
  }
}
