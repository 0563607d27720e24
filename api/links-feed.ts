/**
 * What keeps the links feed: the publisher, the watches of its streams, and images of all links.
 */
import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import type { Lifecycle } from "../shared/lifecycle.ts";
import { openImages } from "../shared/links-store/images.ts";
import type { Log } from "../shared/log.ts";
import type { Nats } from "../shared/nats.ts";
import { watchReadability } from "../shared/stream-readability.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import type { Config } from "./config.ts";
import { startFeedWatches } from "./feed/feed-watches.ts";
import { startLinkPublisher } from "./feed/link-publisher.ts";
import { createFillStream } from "./links/republish/fill.ts";
import { type ImagesJob, startImages } from "./links/republish/image-job.ts";
import type { Sql } from "./postgres.ts";

type LinksFeedDeps = { config: Config; sql: Sql; nats: Nats; lifecycle: Lifecycle; log: Log };

/** Starts what keeps the links feed, and stops it with the process. */
export function startLinksFeed({ config, sql, nats, lifecycle, log }: LinksFeedDeps) {
  const { published: streams } = config.LINKS_STREAMS;
  const feed = startLinkPublisher({
    sql,
    nats: nats.connection,
    inboxPrefix: nats.inboxPrefix,
    streamReplicas: config.NATS_REPLICAS,
    streams,
    log,
  });
  lifecycle.onStop("link feed", feed.stop);
  const watch = startFeedWatches({
    sql,
    nats: nats.connection,
    streamReplicas: config.NATS_REPLICAS,
    fill: createFillStream({ sql, feed }),
    takeAcknowledged: feed.takeAcknowledged,
    streams,
    log,
  });
  lifecycle.onStop("feed watch", watch.stop);
  const replicas = watchReplicas({
    nats: nats.connection,
    streams: streams.map(({ name }) => name),
    expected: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("replica watch", replicas.stop);
  const readability = watchReadability({
    nats: nats.connection,
    streams: [...streams.map(({ name }) => name), CLICKS_STREAM],
    log,
  });
  lifecycle.onStop("readability watch", readability.stop);
  const images = startConfiguredImages({ config, sql, nats, lifecycle, log });
  return { feed, watch, replicas, readability, images };
}

/**
 * Starts the job that writes images of all links; undefined when no place for them is configured.
 */
function startConfiguredImages({
  config,
  sql,
  nats,
  lifecycle,
  log,
}: LinksFeedDeps): ImagesJob | undefined {
  const place = openImages(config);
  if (place === undefined) return undefined;
  const streams = config.LINKS_STREAMS.followed;
  const images = startImages({ sql, nats: nats.connection, images: place, streams, log });
  lifecycle.onStop("images", images.stop);
  return images;
}
