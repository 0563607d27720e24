/**
 * Republishes links whose feed records lack their UTM parameters, once after the upgrade to this
 * version.
 */
import type { Log } from "../../../shared/log.ts";
import { addToOutbox } from "../../feed/outbox.ts";
import type { Sql } from "../../postgres.ts";
import { sizeProblem, toRecord } from "../record.ts";
import { BATCH, renewVersions } from "./batches.ts";
import { deleteUtmBacklog, findInOrder, lockUtmBacklog } from "./sql.ts";

/** Pause between batches, so that requests can use the database and the feed. */
const PAUSE_MS = 100;

/** Pause after a failure. */
const RETRY_MS = 10_000;

/**
 * Publishes in the background until no such link is left; any number of processes may do so
 * concurrently.
 */
export function startUtmRepublishing(sql: Sql, log: Log): { stop: () => Promise<void> } {
  const stopping = Promise.withResolvers<void>();
  let stopped = false;

  async function run(): Promise<void> {
    let published = 0;
    while (!stopped) {
      let pause = PAUSE_MS;
      try {
        const batch = await republishUtm(sql);
        if (batch === undefined) break;
        published += batch;
      } catch (error) {
        log.warn({ error }, "utm_republishing_failed");
        pause = RETRY_MS;
      }
      await Promise.race([Bun.sleep(pause), stopping.promise]);
    }
    if (published > 0) log.info({ published }, "utm_republished");
  }

  const running = run();
  return {
    async stop() {
      stopped = true;
      stopping.resolve();
      await running;
    },
  };
}

/**
 * Adds a batch of links to the outbox under new versions and returns their number; undefined when
 * none is left. Leaves links that are being changed to a later batch.
 */
export const republishUtm = (sql: Sql): Promise<number | undefined> =>
  sql.begin(async (transaction) => {
    const { waiting, ids } = await lockUtmBacklog(transaction, BATCH);
    if (waiting.length === 0) return undefined;
    const found = await renewVersions(transaction, await findInOrder(transaction, ids));
    // A link whose record has the maximum size stays without UTM parameters.
    const renewed = found.filter((link) => sizeProblem(link) === undefined);
    // The relay publishes them.
    await addToOutbox(transaction, renewed.map(toRecord));
    await deleteUtmBacklog(transaction, waiting, ids);
    return renewed.length;
  });
