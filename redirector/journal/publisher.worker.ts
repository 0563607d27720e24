/** Runs the publisher in its own thread, so that publishing clicks does not slow down redirects. */
import { createLog } from "../../shared/log.ts";
import type { NatsFiles } from "../../shared/nats-files.ts";
import { openNats } from "../../shared/nats.ts";
import type { SealedSegment } from "./files.ts";
import { startPublisher } from "./publisher.ts";

export type PublisherOptions = {
  natsUrl: string;
  natsFiles?: NatsFiles;
  streamBytesMax: number;
  journalBytesMax: number;
  streamReplicas: number;
  logLevel: string;
};

/** Messages to the thread. */
export type PublisherCommand =
  | { kind: "start"; options: PublisherOptions }
  | { kind: "publish"; segment: SealedSegment }
  | { kind: "stop" };

/**
 * Messages from the thread: a segment was delivered or quarantined, its file was truncated, or the
 * thread has stopped.
 */
export type PublisherEvent =
  | { kind: "delivered" }
  | { kind: "quarantined"; pending: boolean }
  | { kind: "released"; segment: SealedSegment }
  | { kind: "stopped" };

declare const self: Worker;

const send = (event: PublisherEvent): void => self.postMessage(event);

let running: ReturnType<typeof run> | undefined;

function run({ natsUrl, natsFiles = {}, logLevel, ...options }: PublisherOptions) {
  const log = createLog("redirector", logLevel);
  const nats = openNats({ url: natsUrl, files: natsFiles, name: "redirector clicks", log });
  const publisher = startPublisher({
    nats: nats.connection,
    ...options,
    log,
    onDelivered: () => send({ kind: "delivered" }),
    onQuarantined: ({ pending }) => send({ kind: "quarantined", pending }),
    onReleased: (segment) => send({ kind: "released", segment }),
  });
  return {
    add: publisher.add,
    /** Never rejects; segments that are not published stay in the journal. */
    async stop(): Promise<void> {
      try {
        await publisher.stop();
        await nats.close();
      } catch (error) {
        log.error({ error }, "publisher_not_stopped");
      }
    },
  };
}

self.addEventListener("message", ({ data }: MessageEvent<PublisherCommand>): void => {
  switch (data.kind) {
    case "start":
      running = run(data.options);
      return;
    case "publish":
      running?.add(data.segment);
      return;
    case "stop":
      void running?.stop().finally(() => send({ kind: "stopped" }));
  }
});
