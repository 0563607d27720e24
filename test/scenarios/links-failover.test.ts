/**
 * Goal: after the death of the server that leads the links log, changes reach every redirector as
 * soon as there is a new leader, each once, and no link is lost meanwhile.
 */
import { expect, test } from "bun:test";

import { addToOutbox } from "../../api/links-log/log.ts";
import { LinksLogPublisher } from "../../api/links-log/publisher.ts";
import { SnapshotMaker } from "../../api/links-snapshots/snapshot-maker.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { type Log, processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually, smallest } from "../harness/eventually.ts";
import { TestHost } from "../harness/host-links.ts";
import { activeLink, SIGNER } from "../harness/links-log.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";
import { startPostgres } from "../harness/postgres.ts";

const RECOVERY_MS = 20_000;

/**
 * Latest time from the first acknowledgement of the new leader until every redirector has the
 * change.
 */
const PROPAGATION_MS_MAX = 2_000;

const LINKS = Array.from({ length: 50 }, (_, i) => `link-${i}`);

const noteFailure = (): void => undefined;

/** What an API process does for the links log, on a PostgreSQL with an account. */
async function startPublisher(url: string, replicas: number, log: Log) {
  await using cleanup = new AsyncDisposableStack();
  const postgres = cleanup.use(await startPostgres());
  await postgres.addAccount();
  const { sql } = postgres;
  const nats = new NatsClient(url, "publisher", log);
  cleanup.defer(() => nats.close());
  const context = { sql, nats, signer: SIGNER, replicas, log, noteFailure };
  const publisher = new LinksLogPublisher(context);
  cleanup.defer(() => publisher.stop());
  const snapshots = new SnapshotMaker(context, publisher, postgres.url);
  cleanup.defer(() => snapshots.stop());
  const resources = cleanup.move();
  return {
    /** Changes links, and waits until the log has that. */
    async change(aliases: readonly string[], version: number): Promise<void> {
      const records = aliases.map((alias) => activeLink(alias, version));
      await sql.begin((transaction) => addToOutbox(transaction, records));
      await eventually(async () => expect(await publisher.publish()).toBe(true), RECOVERY_MS);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

test("changes reach every redirector within two seconds of the election of a new leader, and links stay", async () => {
  await using cluster = await NatsCluster.start(await ownNatsServer(), { tls: false });
  await using cleanup = new AsyncDisposableStack();
  const log = processLog("test", "silent");
  const api = cleanup.use(await startPublisher(cluster.url("api"), 3, log));
  const hosts = [1, 2].map(() => cleanup.use(new TestHost(cluster.url("redirector"), log)));

  const expectEverywhere = (aliases: readonly string[], version: number) =>
    eventually(async () => {
      for (const host of hosts)
        expect(aliases.map((alias) => host.versionOf(alias))).toEqual(aliases.map(() => version));
    }, RECOVERY_MS);

  await eventually(async () => {
    for (const { process } of hosts) expect(process.health.readiness()).toBe("ok");
  }, RECOVERY_MS);
  await api.change(LINKS, 1);
  await expectEverywhere(LINKS, 1);

  let version = 1;
  const measured: number[] = [];
  await smallest(async () => {
    version++;
    const leader = await eventually(async () => {
      const found = await cluster.leaderOf(LINK_LOG_STREAM);
      if (found === undefined) throw new Error("There is no leader yet.");
      return found;
    }, RECOVERY_MS);
    // Changes that are on their way when it dies must not be skipped.
    const underway = LINKS.slice(1).map((alias) => api.change([alias], version));
    await leader.kill();
    await Promise.all(underway);
    await api.change(LINKS.slice(0, 1), version);
    const elected = performance.now();
    await expectEverywhere(LINKS.slice(0, 1), version);
    const delay = performance.now() - elected;
    measured.push(Math.round(delay));
    await expectEverywhere(LINKS, version);
    leader.start();
    const operator = await cluster.connect("operator");
    await eventually(async () => {
      const { cluster: placement } = await (
        await operator.jetstreamManager()
      ).streams.info(LINK_LOG_STREAM);
      expect(placement?.replicas?.map(({ current }) => current)).toEqual([true, true]);
    }, RECOVERY_MS);
    await operator.close();
    return delay;
  }, PROPAGATION_MS_MAX).then((least) => expect(least).toBeLessThan(PROPAGATION_MS_MAX));
  console.log(`changes after the new leader's first acknowledgement: ${measured.join(", ")} ms`);
  await eventually(async () => {
    for (const { process } of hosts) expect(process.health.ageSeconds()).toBeLessThan(5);
  }, RECOVERY_MS);
}, 240_000);
