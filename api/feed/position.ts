/** Where the links feed is, for what is made beside it. */
import type { JetStreamManager } from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { type ImagePosition, toPosition } from "../../shared/links-store/images.ts";
import type { Sql } from "../postgres.ts";
import { lockFilling, selectFeed } from "./sql.ts";

/**
 * The end of each stream of the feed and its epoch; undefined while one lacks links. No process fills one meanwhile, so that
 * what has a lower version than the epoch was published before.
 */
export const readPosition = (
  sql: Sql,
  manager: JetStreamManager,
  streams: readonly LinksStream[],
): Promise<ImagePosition | undefined> =>
  sql.begin(async (lock) => {
    if (!(await lockFilling(lock))) return undefined;
    const positions = [];
    for (const { name } of streams) {
      const { created, state } = await manager.streams.info(name);
      const { stream, epoch, incomplete_since } = await selectFeed(lock, name);
      if (stream !== created || epoch === null || incomplete_since !== null) return undefined;
      positions.push({ sequence: state.last_seq, epoch });
    }
    return toPosition(positions);
  });

/** Reads when each stream was last filled, as a version; null or 0 before that. */
export const readEpochs = async (
  sql: Sql,
  streams: readonly LinksStream[],
): Promise<(number | null)[]> =>
  await Promise.all(streams.map(async ({ name }) => (await selectFeed(sql, name)).epoch));
