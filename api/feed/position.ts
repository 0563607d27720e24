/** Where the links feed is, for what is made beside it. */
import type { JetStreamManager } from "nats";

import { LINKS_STREAM } from "../../shared/contracts/streams.ts";
import type { ImagePosition } from "../../shared/links-store/images.ts";
import type { Sql } from "../postgres.ts";
import { lockFilling, selectFeed } from "./sql.ts";

/**
 * The end of the feed and its epoch; undefined while the stream lacks links. No process fills it meanwhile, so that what
 * has a lower version than the epoch was published before.
 */
export const readPosition = (
  sql: Sql,
  manager: JetStreamManager,
): Promise<ImagePosition | undefined> =>
  sql.begin(async (lock) => {
    if (!(await lockFilling(lock))) return undefined;
    const { created, state } = await manager.streams.info(LINKS_STREAM);
    const { stream, epoch, incomplete_since } = await selectFeed(lock);
    if (stream !== created || epoch === null || incomplete_since !== null) return undefined;
    return { sequence: state.last_seq, epoch };
  });

/** Reads when the stream was last filled, as a version; null or 0 before that. */
export const readEpoch = async (sql: Sql): Promise<number | null> => (await selectFeed(sql)).epoch;
