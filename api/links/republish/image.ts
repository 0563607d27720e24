/**
 * Builds an image of the links store from PostgreSQL while requests and changes continue. Reads the
 * position in the feed first, so that any change committed after its link was read is published
 * after that position.
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
  isInStream,
  type LinksStream,
  UNDIVIDED,
} from "../../../shared/contracts/links-streams.ts";
import type { ShortLink } from "../../../shared/contracts/short-link.ts";
import {
  decodeLinkMessage,
  jetStreamErrorCode,
  linkSubject,
  NO_MESSAGE,
} from "../../../shared/contracts/streams.ts";
import { type ImagePosition, positionsOf } from "../../../shared/links-store/images.ts";
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
import { findServedDomains, findServedLinksOf, type ServedDomain } from "./sql.ts";

/** Links per event loop turn, which takes a few milliseconds. */
const BATCH = 200;

type Source = {
  sql: Sql;
  manager: JetStreamManager;
  /** The streams of the feed. */
  streams?: readonly LinksStream[];
  isStopped: () => boolean;
};

/**
 * Writes all links and notices to a file; returns their number and the position. Returns undefined
 * when stopped, or while the stream lacks links or is being filled: there is then no position after
 * which all later changes are published.
 */
export async function buildImage(
  source: Source,
  path: string,
): Promise<({ links: number } & ImagePosition) | undefined> {
  const { sql, manager, streams = [UNDIVIDED], isStopped } = source;
  const position = await readPosition(sql, manager, streams);
  if (position === undefined) return undefined;
  using db = new Database(path, { create: true, readwrite: true, strict: true });
  // Needs no journal: an unfinished file is discarded.
  db.run("PRAGMA journal_mode = OFF");
  db.run("PRAGMA synchronous = OFF");
  db.run(SCHEMA);
  const write = preparePut(db);
  let written = 0;
  const put = (change: Change): void => void (written += write(change).links);
  db.run("BEGIN");
  const places = positionsOf(position).flatMap(({ epoch, sequence }, i) => {
    const stream = streams[i];
    return stream === undefined ? [] : [{ stream, epoch, sequence }];
  });
  /** The stream of a link or notice, and its epoch. */
  function locate(name: ShortLink): { stream: LinksStream; epoch: number } {
    const place = places.find(({ stream }) => isInStream(stream, name));
    if (place === undefined) throw new Error("No stream has a link of that name.");
    return place;
  }
  let count = 0;
  const own = { id: null, host: DEFAULT_DOMAIN };
  for (const domain of [own, ...(await findServedDomains(sql))]) {
    for (const alias of [TAKEDOWNS_ALIAS, DOMAIN_ALIAS]) {
      const name = { domain: domain.host, alias };
      (await readChanges(manager, locate(name).stream, name)).forEach(put);
    }
    for await (const links of readLinks(sql, domain)) {
      if (isStopped()) return undefined;
      for (const link of links) {
        const name = shortLinkOf(link);
        const { stream, epoch } = locate(name);
        const change = toImageRow(link, epoch);
        // Its record has become too large, so the feed has an earlier one.
        if (change === undefined) (await readChanges(manager, stream, name)).forEach(put);
        else put(change);
      }
      count += links.length;
    }
  }
  for (const { stream, epoch, sequence } of places) {
    const announced = { complete: true, epoch };
    const state = { ...EMPTY_FEED, ...announced, sequence, announced };
    setFeed(db, state, written, stream.name);
  }
  db.run("COMMIT");
  return { ...position, links: count };
}

/** The links of a domain, by alias: rows in key order are written fast. */
async function* readLinks(sql: Sql, { id }: Pick<ServedDomain, "id">): AsyncGenerator<LinkRow[]> {
  for (let after = ""; ;) {
    const links = await findServedLinksOf(sql, id, after, BATCH);
    if (links.length > 0) yield links;
    after = links.at(-1)?.alias ?? "";
    if (links.length < BATCH) return;
  }
}

/**
 * The row of a link, as a redirector would store it from the feed; undefined when it is too large.
 */
function toImageRow(link: LinkRow, epoch: number): Change | undefined {
  if (sizeProblem(link) !== undefined) return undefined;
  const message = encodeLinkRecord({
    ...toRecord(link),
    // Links with lower versions were published under the epoch.
    version: Math.max(link.version, epoch),
  });
  const record = decodeLinkRecord(message);
  return record === undefined ? undefined : toChange(record, message);
}

/** Reads the current state of a link or notice from the feed. */
async function readChanges(
  manager: JetStreamManager,
  stream: LinksStream,
  name: ShortLink,
): Promise<Change[]> {
  try {
    const subject = linkSubject(name, stream);
    const { data } = await manager.streams.getMessage(stream.name, { last_by_subj: subject });
    const record = decodeLinkMessage(subject, data);
    return record === undefined ? [] : [toChange(record, data)];
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return [];
    throw error;
  }
}
