/** The publisher's own thread, so that carrying clicks away takes nothing from answering people. */
import { createLog } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";
import type { SealedPage } from "./files.ts";
import { startPublisher } from "./publisher.ts";

export type PublisherOptions = { natsUrl: string; streamBytesMax: number; logLevel: string };

/** What the thread is told. */
export type Told =
  | { kind: "start"; options: PublisherOptions }
  | { kind: "page"; page: SealedPage }
  | { kind: "stop" };

/** What the thread tells: that a page was delivered, that its file is empty, or that all has stopped. */
export type Tells =
  { kind: "delivered" } | { kind: "released"; page: SealedPage } | { kind: "stopped" };

declare const self: Worker;

const tell = (message: Tells): void => self.postMessage(message);

let running: ReturnType<typeof run> | undefined;

function run({ natsUrl, streamBytesMax, logLevel }: PublisherOptions) {
  const log = createLog("redirector", logLevel);
  const nats = openNats({ url: natsUrl, name: "redirector clicks", log });
  const publisher = startPublisher({
    nats: nats.connection,
    streamBytesMax,
    log,
    onDelivered: () => tell({ kind: "delivered" }),
    onReleased: (page) => tell({ kind: "released", page }),
  });
  return {
    add: publisher.add,
    async stop(): Promise<void> {
      await publisher.stop();
      await nats.close();
    },
  };
}

self.addEventListener("message", ({ data }: MessageEvent<Told>): void => {
  switch (data.kind) {
    case "start":
      running = run(data.options);
      return;
    case "page":
      running?.add(data.page);
      return;
    case "stop":
      void running?.stop().finally(() => tell({ kind: "stopped" }));
  }
});
