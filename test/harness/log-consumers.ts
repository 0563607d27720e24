/** The consumers of the links log, one for each host of redirectors. */
import { type ClusterInfo, nanos, type NatsConnection } from "nats";

import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";

/** After this time without a redirector the server removes a consumer. */
const IDLE_MS_MAX = 30_000;

/**
 * Whether no server that runs has a consumer: those of a machine that is lost stay listed until it
 * comes back, as nobody can tell whether they are in use there, and cost nothing meanwhile.
 */
const isLost = ({ leader, replicas = [] }: ClusterInfo): boolean =>
  leader === undefined && replicas.length > 0 && replicas.every(({ offline }) => offline);

/**
 * The names of consumers by whether a redirector waits for changes there, as it does at nearly all
 * times.
 */
type LogConsumers = { used: string[]; unused: string[] };

/**
 * Finds the consumers of the log, and closes the connection. Throws when one would outlive its
 * redirector for long.
 */
export async function findLogConsumers(nats: NatsConnection): Promise<LogConsumers> {
  try {
    const { consumers } = await nats.jetstreamManager();
    const found: LogConsumers = { used: [], unused: [] };
    for await (const { name, config, num_waiting, cluster = {} } of consumers.list(
      LINK_LOG_STREAM,
    )) {
      if (isLost(cluster)) continue;
      if ((config.inactive_threshold ?? Infinity) > nanos(IDLE_MS_MAX))
        throw new Error(`Consumer ${name} stays without a redirector.`);
      found[num_waiting > 0 ? "used" : "unused"].push(name);
    }
    return found;
  } finally {
    await nats.close();
  }
}
