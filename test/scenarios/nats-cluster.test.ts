/**
 * Goal: on three servers with exactly the files of deploy/nats, Debian's nats-server or a later
 * one, a stream has three replicas, or is named.
 */
import { describe, expect, test } from "bun:test";

import { CLICKS_STREAM, ensureClicksStream } from "../../shared/contracts/streams.ts";
import { ensureLinkLogStream, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { ReplicaWatch } from "../../shared/stream-checks.ts";
import { eventually } from "../harness/eventually.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { laterNatsServer, ownNatsServer } from "../harness/nats.ts";

const RECOVERY_MS = 20_000;
const STREAM_BYTES_MAX = 64 * 1024 ** 2;

const programs = [await ownNatsServer(), await laterNatsServer()].filter(
  (program) => program !== undefined,
);

// At the same time: a cluster mostly waits for elections.
describe.each(programs)("three servers with the files of deploy/nats, $version", (program) => {
  test.concurrent(
    "name a stream that has fewer replicas than it should, until an operator adds them",
    async () => {
      await using cluster = await NatsCluster.start(program);
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
