/**
 * The links feed of a test: PostgreSQL and NATS, and the parts of an API process that keep the
 * feed.
 */
import type { NatsConnection } from "nats";

import { startFeedWatches } from "../../api/feed/feed-watches.ts";
import type { FillStream } from "../../api/feed/filling.ts";
import { startLinkPublisher } from "../../api/feed/link-publisher.ts";
import { SYSTEM } from "../../api/http/principal.ts";
import { createFillStream } from "../../api/links/republish/fill.ts";
import type { Sql } from "../../api/postgres.ts";
import { type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import type { Uuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { startNats } from "./nats.ts";
import { startPostgres } from "./postgres.ts";

/** Between two checks of a stream, so that no test waits long for one. */
const INTERVAL_MS = 200;

export type FeedStores = Awaited<ReturnType<typeof startFeedStores>>;

/** Starts PostgreSQL, with an account, and NATS. */
export async function startFeedStores() {
  const [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
  const connection = await nats.connect();
  const owner = {
    accountId: await postgres.addAccount(),
    mode: "live" as const,
    plan: "pro",
    actor: SYSTEM,
  };
  return {
    ...postgres,
    nats,
    connection,
    manager: await connection.jetstreamManager(),
    owner,
    /**
     * Adds links as a process of an earlier version left them: with low versions, and nothing in
     * the outbox.
     */
    async addLinks(count: number, name = "link", domain: Uuid | null = null): Promise<void> {
      await postgres.sql`
        with added as (
          insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, title, folded, version, created_at, updated_at)
          select gen_random_uuid(), ${owner.accountId}, 'live', ${domain}, ${name} || '-' || i, url, url, 'A title', ${domain !== null || null}, i, now(), now()
            from generate_series(1, ${count}::integer) i, lateral (select 'https://example.com/' || i as url) urls
          returning id)
        insert into link_counters (link_id, account_id, mode) select id, ${owner.accountId}, 'live' from added`;
    },
    async [Symbol.asyncDispose]() {
      await connection.close();
      await Promise.all([postgres[Symbol.asyncDispose](), nats[Symbol.asyncDispose]()]);
    },
  };
}

type KeeperDeps = {
  sql: Sql;
  connection: NatsConnection;
  streams?: readonly LinksStream[];
  /** Called when a stream begins to be filled. */
  onFill?: () => void;
};

/** Publishes to the feed and watches its streams, as an API process does. */
export function keepFeed({
  sql,
  connection,
  streams = [UNDIVIDED],
  onFill = () => undefined,
}: KeeperDeps) {
  const log = createLog("test", "silent");
  const deps = { sql, nats: Promise.resolve(connection), streamReplicas: 1, streams, log };
  const feed = startLinkPublisher(deps);
  const fillStream = createFillStream({ sql, feed });
  const fill: FillStream = (filling) => {
    onFill();
    return fillStream(filling);
  };
  const { takeAcknowledged } = feed;
  const intervals = { intervalMs: INTERVAL_MS, countIntervalMs: 0 };
  const watch = startFeedWatches({ ...deps, ...intervals, fill, takeAcknowledged });
  return {
    feed,
    watch,
    async [Symbol.asyncDispose]() {
      await watch.stop();
      await feed.stop();
    },
  };
}
