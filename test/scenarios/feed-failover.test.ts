/**
 * Goal: after the death of the server that leads LINKS, changes reach every redirector as soon as
 * there is a new leader, and no link is lost meanwhile.
 */
import { expect, test } from "bun:test";

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
import { startTestHost } from "../harness/host-links.ts";
import { activeLink } from "../harness/link-record.ts";
import { startNatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats-versions.ts";

const RECOVERY_MS = 20_000;

/**
 * Latest time from the first acknowledgement of the new leader until every redirector has the
 * change.
 */
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

test("changes reach every redirector within two seconds of the election of a new leader, and links stay", async () => {
  await using cluster = await startNatsCluster(await ownNatsServer(), { tls: false });
  await using cleanup = new AsyncDisposableStack();
  const log = createLog("test", "silent");
  const publisher = openNats({ url: cluster.url("api"), name: "publisher", log });
  cleanup.defer(publisher.close);
  const api = await publisher.connection;
  await eventually(async () => ensureLinksStream(await api.jetstreamManager(), 3), RECOVERY_MS);
  cleanup.defer(await startHeartbeat(publisher));
  const hosts = [1, 2].map(() => startTestHost(cluster.url("redirector"), { replicas: 3, log }));
  for (const host of hosts) cleanup.defer(() => host[Symbol.asyncDispose]());

  /** Publishes a link until a leader acknowledges it, as the outbox relay does. */
  const publish = (alias: string, version: number) =>
    eventually(async () => {
      const record = encodeLinkRecord(activeLink(alias, version));
      await api.jetstream({ timeout: 500 }).publish(linkSubject({ domain: "", alias }), record);
    }, RECOVERY_MS);
  const expectEverywhere = (alias: string, version: number) =>
    eventually(async () => {
      for (const host of hosts) expect(host.versionOf(alias)).toBe(version);
    }, RECOVERY_MS);

  await eventually(async () => {
    for (const { health } of hosts) expect(health.readiness()).toBe("ok");
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
    const links = Array.from({ length: LINKS }, (_, i) => `link-${i}`);
    await eventually(async () => {
      for (const host of hosts) expect(links.map(host.versionOf)).toEqual(links.map(() => version));
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
    for (const { health } of hosts) expect(health.ageSeconds()).toBeLessThan(5);
  }, RECOVERY_MS);
}, 240_000);

test("a host whose feed brings no heartbeats tells how long that has been, and stays ready", async () => {
  await using cluster = await startNatsCluster(await ownNatsServer(), { count: 1, tls: false });
  const log = createLog("test", "silent");
  await using host = startTestHost(cluster.url("redirector"), { log });
  const { health } = host;
  expect(health.readiness()).toBe("the store lacks links");
  const publisher = openNats({ url: cluster.url("api"), name: "publisher", log });
  const stopHeartbeat = await startHeartbeat(publisher);
  await eventually(async () => expect(health.readiness()).toBe("ok"), RECOVERY_MS);
  await eventually(async () => expect(health.ageSeconds()).toBeLessThan(2), RECOVERY_MS);
  expect(health.warning()).toBeUndefined();
  expect(health.lag()).toBe(0);
  stopHeartbeat();
  await Promise.all(cluster.servers.map((server) => server.kill()));
  await eventually(async () => expect(health.lag()).toBeUndefined(), RECOVERY_MS);
  expect(health.readiness()).toBe("ok");
  await eventually(
    async () => expect(health.warning()).toMatch(/^ok; last confirmed \d+ s ago$/),
    2 * RECOVERY_MS,
  );
  expect(health.readiness()).toBe("ok");
  await publisher.close();
}, 240_000);
