/** Reads the current position of the links feed, for files that are written beside it. */
import type { JetStreamManager } from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { type ImagePosition, toPosition } from "../../shared/links-store/images.ts";
import type { Sql } from "../postgres.ts";
import { lockFilling, selectFeed } from "./sql.ts";

/**
 * The end of each stream of the feed and its epoch; undefined while a stream lacks links. No fill
 * runs meanwhile, so every message with a version below the epoch was published before.
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

/**
 * Reads the epoch of each stream: the version drawn at its last fill. null or 0 before the first
 * fill.
 */
export const readEpochs = async (
  sql: Sql,
  streams: readonly LinksStream[],
): Promise<(number | null)[]> =>
  await Promise.all(streams.map(async ({ name }) => (await selectFeed(sql, name)).epoch));
