/** The thread of the publisher: see `publisher-thread.ts`. */
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import type { Config } from "../config.ts";
import type { SealedSegment } from "./files.ts";
import { Publisher } from "./publisher.ts";

/** Messages to the thread. */
export type PublisherCommand =
  | { kind: "start"; config: Config }
  | { kind: "publish"; segment: SealedSegment }
  | { kind: "stop" };

/** Messages from the thread; `released` when a segment's file was truncated. */
export type PublisherEvent =
  | { kind: "delivered" }
  | { kind: "quarantined"; pending: boolean }
  | { kind: "released"; segment: SealedSegment }
  | { kind: "stopped" };

declare const self: Worker;

const send = (event: PublisherEvent): void => self.postMessage(event);

let publisher: Publisher | undefined;
/** Never rejects; segments that are not published stay in the journal. */
let stop = (): Promise<void> => Promise.resolve();

function start(config: Config): void {
  const log = processLog("redirector", config.LOG_LEVEL);
  const nats = new NatsClient(config.NATS_URL, "redirector clicks", log, config);
  const started = new Publisher(
    nats.connection,
    config,
    {
      delivered: () => send({ kind: "delivered" }),
      quarantined: (pending) => send({ kind: "quarantined", pending }),
      released: (segment) => send({ kind: "released", segment }),
    },
    log,
  );
  publisher = started;
  stop = async () => {
    try {
      await started.stop();
      await nats.close();
    } catch (error) {
      log.error({ error }, "publisher_not_stopped");
    }
  };
}

self.addEventListener("message", ({ data }: MessageEvent<PublisherCommand>): void => {
  if (data.kind === "start") start(data.config);
  else if (data.kind === "publish") publisher?.add(data.segment);
  else void stop().finally(() => send({ kind: "stopped" }));
});
