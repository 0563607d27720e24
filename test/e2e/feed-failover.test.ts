/**
 * Goal: after the death of the server that leads LINKS, changes reach every redirector as soon as there is a new
 * leader, and no cache is emptied meanwhile.
 */
import { expect, test } from "bun:test";

import { createLinkCache, type LinkCache } from "../../redirector/cache/link-cache.ts";
import { createDomainAnswers } from "../../redirector/domain-settings.ts";
import { startLinkSubscriber } from "../../redirector/link-subscriber.ts";
import { createTakedowns } from "../../redirector/takedowns.ts";
import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { createLog } from "../../shared/log.ts";
import { type Nats, openNats } from "../../shared/nats.ts";
import { eventually, smallest } from "../harness/eventually.ts";
import { activeLink } from "../harness/link-record.ts";
import { startNatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats-versions.ts";

const RECOVERY_MS = 20_000;

/** Latest time from the first acknowledgement of the new leader until every redirector has the change. */
const PROPAGATION_MS_MAX = 2_000;

const LINKS = 50;

/** As often as an API process publishes one. */
const HEARTBEAT_MS = 2_000;

/** Publishes heartbeats as an API process does; returns a function that stops it. */
async function startHeartbeat({ connection }: Pick<Nats, "connection">): Promise<() => void> {
  const client = (await connection).jetstream({ timeout: HEARTBEAT_MS });
  const heartbeat = encodeHeartbeat({ complete: true, epoch: 1, version: 1 });
  const beat = () => client.publish(HEARTBEAT_SUBJECT, heartbeat).catch(() => undefined);
  void beat();
  const timer = setInterval(() => void beat(), HEARTBEAT_MS);
  return () => clearInterval(timer);
}

const versionsIn = (cache: LinkCache): Map<string, number> =>
  new Map([...cache.records()].map(({ alias, version }) => [alias, version]));

test("changes reach every redirector within two seconds of the election of a new leader, and caches stay", async () => {
  await using cluster = await startNatsCluster(await ownNatsServer(), { tls: false });
  await using cleanup = new AsyncDisposableStack();
  const log = createLog("test", "silent");
  const publisher = openNats({ url: cluster.url("api"), name: "publisher", log });
  cleanup.defer(publisher.close);
  const api = await publisher.connection;
  await eventually(async () => ensureLinksStream(await api.jetstreamManager(), 3), RECOVERY_MS);
  cleanup.defer(await startHeartbeat(publisher));
  const redirectors = [1, 2].map(() => {
    const cache = createLinkCache(4 * 1024 ** 2);
    const nats = openNats({ url: cluster.url("redirector"), name: "redirector", log });
    const feed = startLinkSubscriber({
      nats,
      streamReplicas: 3,
      cache,
      takedowns: createTakedowns(),
      domains: createDomainAnswers(),
      initialCursor: undefined,
      log,
    });
    cleanup.defer(async () => {
      feed.stop();
      await nats.close();
    });
    return { cache, feed };
  });

  /** Publishes a link until a leader acknowledges it, as the outbox relay does. */
  const publish = (alias: string, version: number) =>
    eventually(async () => {
      const record = encodeLinkRecord(activeLink(alias, version));
      await api.jetstream({ timeout: 500 }).publish(linkSubject("", alias), record);
    }, RECOVERY_MS);
  const expectEverywhere = (alias: string, version: number) =>
    eventually(async () => {
      for (const { cache } of redirectors) expect(versionsIn(cache).get(alias)).toBe(version);
    }, RECOVERY_MS);

  await eventually(async () => {
    for (const { feed } of redirectors) expect(feed.state()).toBe("ok");
  }, RECOVERY_MS);
  for (let i = 0; i < LINKS; i++) await publish(`link-${i}`, 1);
  await expectEverywhere(`link-${LINKS - 1}`, 1);

  let version = 1;
  const measured: number[] = [];
  await smallest(async () => {
    version++;
    const leader = await eventually(async () => {
      const found = await cluster.leaderOf(LINKS_STREAM);
      if (found === undefined) throw new Error("There is no leader yet.");
      return found;
    }, RECOVERY_MS);
    // Changes that are on their way when it dies must not be skipped.
    const underway = Array.from({ length: LINKS - 1 }, (_, i) => publish(`link-${i + 1}`, version));
    await leader.kill();
    await Promise.all(underway);
    await publish("link-0", version);
    const elected = performance.now();
    await expectEverywhere("link-0", version);
    const delay = performance.now() - elected;
    measured.push(Math.round(delay));
    const expected = Array.from({ length: LINKS }, () => version);
    await eventually(async () => {
      for (const { cache } of redirectors)
        expect([...versionsIn(cache).values()]).toEqual(expected);
    }, RECOVERY_MS);
    leader.start();
    const operator = await cluster.connect("operator");
    await eventually(async () => {
      const { cluster: placement } = await (
        await operator.jetstreamManager()
      ).streams.info(LINKS_STREAM);
      expect(placement?.replicas?.map(({ current }) => current)).toEqual([true, true]);
    }, RECOVERY_MS);
    await operator.close();
    return delay;
  }, PROPAGATION_MS_MAX).then((least) => expect(least).toBeLessThan(PROPAGATION_MS_MAX));
  console.log(`changes after the new leader's first acknowledgement: ${measured.join(", ")} ms`);
  await eventually(async () => {
    for (const { feed } of redirectors) expect(feed.ageSeconds()).toBeLessThan(5);
  }, RECOVERY_MS);
}, 240_000);

test("a redirector whose feed brings no heartbeats tells how long that has been, and stays ready", async () => {
  await using cluster = await startNatsCluster(await ownNatsServer(), { count: 1, tls: false });
  const log = createLog("test", "silent");
  const nats = openNats({ url: cluster.url("redirector"), name: "redirector", log });
  const cache = createLinkCache(4 * 1024 ** 2);
  const feed = startLinkSubscriber({
    nats,
    streamReplicas: 1,
    cache,
    takedowns: createTakedowns(),
    domains: createDomainAnswers(),
    initialCursor: undefined,
    log,
  });
  expect(feed.readiness()).toBe("not connected yet");
  await eventually(async () => expect(feed.readiness()).toBe("ok"), RECOVERY_MS);
  await eventually(async () => expect(feed.ageSeconds()).toBeGreaterThan(3), RECOVERY_MS);
  const publisher = openNats({ url: cluster.url("api"), name: "publisher", log });
  const stopHeartbeat = await startHeartbeat(publisher);
  await eventually(async () => expect(feed.ageSeconds()).toBeLessThan(2), RECOVERY_MS);
  stopHeartbeat();
  await Promise.all(cluster.servers.map((server) => server.kill()));
  await eventually(async () => expect(feed.state()).not.toBe("ok"), RECOVERY_MS);
  expect(feed.readiness()).toBe("ok");
  await eventually(async () => expect(feed.ageSeconds()).toBeGreaterThan(3), RECOVERY_MS);
  feed.stop();
  await nats.close();
  await publisher.close();
}, 240_000);
