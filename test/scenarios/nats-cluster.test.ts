/**
 * Goal: three servers form a cluster from exactly the files of deploy/nats, with Debian's
 * nats-server and with a later one; streams have three replicas, and a server's death loses
 * nothing.
 */
import { describe, expect, test } from "bun:test";

import type { NatsConnection } from "nats";

import { readCluster } from "../../cli/machines/host-checks.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  DEAD_LETTERS_STREAM,
  ensureClicksStream,
  ensureDeadLettersStream,
  jetStreamErrorCode,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import { ensureSnapshotsStream, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import {
  ensureLinkLogStream,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
} from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { ReplicaWatch } from "../../shared/stream-checks.ts";
import { eventually } from "../harness/eventually.ts";
import { startNatsCluster } from "../harness/nats-cluster.ts";
import { laterNatsServer, ownNatsServer } from "../harness/nats-versions.ts";

const RECOVERY_MS = 20_000;
const STREAM_BYTES_MAX = 64 * 1024 ** 2;

const programs = [await ownNatsServer(), await laterNatsServer()].filter(
  (program) => program !== undefined,
);

/**
 * Publishes an entry after a sequence until a leader has it, also one that died before it said so.
 */
const publishAfter = (api: NatsConnection, lastSequence: number): Promise<void> =>
  eventually(async () => {
    try {
      const expected = { expect: { lastSequence } };
      await api.jetstream({ timeout: 1_000 }).publish(LINK_LOG_SUBJECT, "{}", expected);
    } catch (error) {
      if (jetStreamErrorCode(error) !== WRONG_LAST_SEQUENCE) throw error;
    }
  }, RECOVERY_MS);

// At the same time: a cluster mostly waits for elections.
describe.each(programs)("three servers with the files of deploy/nats, $version", (program) => {
  test.concurrent("form a cluster whose streams outlive each server in turn", async () => {
    await using cluster = await startNatsCluster(program);
    for (const { monitoringPort } of cluster.servers) {
      const found = await readCluster(`http://127.0.0.1:${monitoringPort}`);
      expect([found?.members.cluster_size, found?.others.size]).toEqual([3, 2]);
    }
    const redirector = await cluster.connect("redirector");
    const worker = await cluster.connect("worker");
    const api = await cluster.connect("api");
    await eventually(async () => {
      const manager = await api.jetstreamManager();
      await ensureLinkLogStream(manager, 3);
      await ensureSnapshotsStream(manager, 3);
    }, RECOVERY_MS);
    // As the worker does it: a leader may not know yet that another server has joined.
    await eventually(async () => {
      const manager = await worker.jetstreamManager();
      await ensureClicksStream(manager, STREAM_BYTES_MAX, 3);
      await ensureDeadLettersStream(manager, 3);
    }, RECOVERY_MS);
    const operator = await (await cluster.connect("operator")).jetstreamManager();
    for (const stream of [LINK_LOG_STREAM, SNAPSHOTS_STREAM, CLICKS_STREAM, DEAD_LETTERS_STREAM])
      expect((await operator.streams.info(stream)).config.num_replicas).toBe(3);

    let published = 0;
    for (const server of cluster.servers) {
      await server.kill();
      await publishAfter(api, published);
      await eventually(async () => {
        const msgID = `segment-${published}`;
        await redirector.jetstream({ timeout: 1_000 }).publish(CLICKS_SUBJECT, "x", { msgID });
      }, RECOVERY_MS);
      published++;
      server.start();
      // The next server may only go when this one is a member with all messages again.
      await eventually(async () => {
        for (const stream of [LINK_LOG_STREAM, CLICKS_STREAM]) {
          const { cluster: placement } = await operator.streams.info(stream);
          expect(placement?.leader).toBeTruthy();
          expect(placement?.replicas?.map(({ current }) => current)).toEqual([true, true]);
        }
      }, RECOVERY_MS);
    }
    for (const [stream, subject] of [
      [LINK_LOG_STREAM, LINK_LOG_SUBJECT],
      [CLICKS_STREAM, CLICKS_SUBJECT],
    ] as const) {
      const { state } = await operator.streams.info(stream, { subjects_filter: subject });
      expect(state.messages).toBe(published);
    }
    for (const nats of [redirector, worker, api]) await nats.close();
  });

  test.concurrent(
    "name a stream that has fewer replicas than it should, until an operator adds them",
    async () => {
      await using cluster = await startNatsCluster(program);
      const nats = await cluster.connect("api");
      await eventually(
        async () => ensureLinkLogStream(await nats.jetstreamManager(), 1),
        RECOVERY_MS,
      );
      const watch = (streams: string[]) =>
        new ReplicaWatch(Promise.resolve(nats), streams, 3, processLog("test", "silent"));
      const first = watch([LINK_LOG_STREAM]);
      await eventually(
        async () => expect(first.warning()).toBe("LINK_LOG has 1 of 3"),
        RECOVERY_MS,
      );
      first.stop();
      const operator = await cluster.connect("operator");
      // A server that has just started may not be known as a peer yet.
      await eventually(async () => {
        const manager = await operator.jetstreamManager();
        await manager.streams.update(LINK_LOG_STREAM, { num_replicas: 3 });
      }, RECOVERY_MS).catch((error: unknown) => {
        throw new Error(cluster.output(), { cause: error });
      });
      // A new watch compares at once; it names the other streams that it is asked for, and no
      // longer this one.
      const clicks = await cluster.connect("worker");
      await ensureClicksStream(await clicks.jetstreamManager(), STREAM_BYTES_MAX, 1);
      const second = watch([LINK_LOG_STREAM, CLICKS_STREAM]);
      await eventually(async () => expect(second.warning()).toBe("CLICKS has 1 of 3"), RECOVERY_MS);
      second.stop();
      await clicks.close();
      await operator.close();
      await nats.close();
    },
  );
});
