/**
 * How far each server and each redirector of a fleet is in the links log, to explain a link that
 * is outdated.
 */
import * as z from "zod";

import { presentFolder } from "../../../redirector/links/store-files.ts";
import { StoreReader } from "../../../redirector/links/store-reader.ts";
import { LINK_LOG_STREAM } from "../../../shared/links-log/tail.ts";
import type { NatsCluster } from "../../harness/nats-cluster.ts";

const jetStreamSchema = z.object({
  account_details: z.array(
    z.object({
      stream_detail: z.array(
        z.object({
          name: z.string(),
          state: z.object({ messages: z.int(), last_seq: z.int() }),
        }),
      ),
    }),
  ),
});

/** One line: the last message of the stream on each server, and in the store of each redirector. */
export async function describePositions(
  nats: NatsCluster,
  redirectors: readonly { url: string; linksDir: string }[],
): Promise<string> {
  const servers = nats.servers.map(async ({ name, monitoringPort }) => {
    const response = await fetch(`http://127.0.0.1:${monitoringPort}/jsz?streams=true`);
    const streams = jetStreamSchema
      .parse(await response.json())
      .account_details.flatMap(({ stream_detail }) => stream_detail);
    const { messages, last_seq } =
      streams.find((stream) => stream.name === LINK_LOG_STREAM)?.state ?? {};
    return `${name}: ${messages} up to ${last_seq}`;
  });
  const stores = redirectors.map(async ({ url, linksDir }) => {
    const store = new StoreReader(presentFolder(linksDir));
    try {
      return `${url}: ${JSON.stringify(store.state())}`;
    } finally {
      store.close();
    }
  });
  const lines = await Promise.allSettled([...servers, ...stores]);
  return lines
    .map((line) => (line.status === "fulfilled" ? line.value : String(line.reason)))
    .join("; ");
}
