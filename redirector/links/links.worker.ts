/** A redirector's thread for the host's links: fills the store from the links log. */
import { LogVerifier } from "../../shared/links-log/signature.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient, type NatsFiles } from "../../shared/nats.ts";
import type { SkippedReason } from "./log-follower.ts";
import { StoreFiller } from "./store-filler.ts";

export type LinksOptions = {
  dir: string;
  natsUrl: string;
  natsFiles?: NatsFiles;
  /** The public keys of API processes. */
  publicKeys: readonly string[];
  logLevel: string;
};

/** Messages to the thread. */
export type LinksCommand = { kind: "start"; options: LinksOptions } | { kind: "stop" };

/** Messages from the thread. */
export type LinksEvent =
  { kind: "changed" } | { kind: "skipped"; reason: SkippedReason } | { kind: "stopped" };

declare const self: Worker;

const send = (event: LinksEvent): void => self.postMessage(event);

let filler: StoreFiller | undefined;

function start({ dir, publicKeys, logLevel, ...options }: LinksOptions): StoreFiller {
  const log = processLog("redirector", logLevel);
  const { natsUrl: url, natsFiles: files = {} } = options;
  const connect = () => new NatsClient(url, "redirector links", log, files);
  const events = {
    changed: () => send({ kind: "changed" }),
    skipped: (reason: SkippedReason) => send({ kind: "skipped", reason }),
  };
  return new StoreFiller(dir, connect, new LogVerifier(publicKeys), events, log);
}

self.addEventListener("message", ({ data }: MessageEvent<LinksCommand>): void => {
  if (data.kind === "start") filler = start(data.options);
  else void filler?.stop().finally(() => send({ kind: "stopped" }));
});
