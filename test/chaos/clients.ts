/** Clients that follow links and count the responses. */
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import type { SharedStack } from "../harness/stack.ts";
import type { FollowedLink, Ledger } from "./targets.ts";

const CLIENTS = 8;

/** Links that clients follow. */
const LINKS = 5;

/** Addresses that GeoIP databases locate in several countries. */
const ADDRESSES = ["8.8.8.8", "81.2.69.142", "1.1.1.1", "185.60.216.35", "200.160.2.3"];

/** Timeout until redirectors redirect all links after one was killed. */
const RECOVERY_TIMEOUT_MS = 60_000;

export type Clients = {
  /** Number of requests. */
  sent(): number;
  /**
   * Runs `kill`, which kills a redirector, and waits until all links redirect: the next fault may
   * take NATS away.
   */
  restart(kill: () => Promise<void>): Promise<void>;
  /**
   * Waits for the last responses. Throws if any was neither a redirect nor lost with its
   * redirector.
   */
  stop(): Promise<void>;
  /**
   * How many responses had each status that was neither a redirect nor that of a redirector that
   * starts.
   */
  failures: ReadonlyMap<number, number>;
};

/**
 * Starts clients, half of them on each redirector. After `redirectsMax` requests they slow down.
 */
export function startClients(
  { links, tallies }: Ledger,
  bases: () => readonly [string, string],
  redirectsMax: number,
): Clients {
  const failures = new Map<number, number>();
  let sent = 0;
  let stopped = false;
  let restarting = false;

  /** Follows a link once and counts the response; returns its status, undefined if none arrived. */
  async function followCounted(base: string, { id, alias }: FollowedLink, address: string) {
    const status = await follow(new URL(alias, base).href, address);
    const tally = tallies.get(id);
    if (tally === undefined) throw new Error(`${id} is unknown.`);
    if (status === undefined) tally.unknown++;
    else if (status === 302) tally.redirected++;
    return status;
  }

  async function runClient(client: number): Promise<void> {
    for (let i = client; !stopped; i += CLIENTS) {
      const link = links[i % links.length];
      if (link === undefined) return;
      if (sent++ > redirectsMax) await Bun.sleep(50);
      const base = bases()[i % 2 === 0 ? 0 : 1];
      const wasRestarting = restarting;
      const status = await followCounted(base, link, ADDRESSES[sent % ADDRESSES.length] ?? "");
      if (status === undefined || status === 302) continue;
      // A restarted redirector fetches links from NATS, which may not respond in time on a slow
      // machine.
      if (status !== 503 || !(wasRestarting || restarting))
        failures.set(status, (failures.get(status) ?? 0) + 1);
    }
  }

  const clients = Array.from({ length: CLIENTS }, (_, client) => runClient(client));
  return {
    sent: () => sent,
    failures,
    async restart(kill) {
      restarting = true;
      await kill();
      await eventually(async () => {
        for (const base of bases()) {
          for (const link of links) {
            const status = await followCounted(base, link, "127.0.0.1");
            if (status !== 302) throw new Error(`${base} responded with ${status}.`);
          }
        }
      }, RECOVERY_TIMEOUT_MS);
      restarting = false;
    },
    async stop() {
      stopped = true;
      await Promise.all(clients);
      if (failures.size > 0) throw new Error(`Redirects failed: ${JSON.stringify([...failures])}`);
    },
  };
}

/** Creates the links that clients follow, and of which each click is counted. */
export const createFollowedLinks = (stack: SharedStack, key: string): Promise<FollowedLink[]> =>
  Promise.all(
    Array.from({ length: LINKS }, async (_, i) => {
      const body = { url: `https://example.com/${i}` };
      return linkSchema.parse((await call(`${stack.info().api_url}/v1/links`, { key, body })).body);
    }),
  );

/** Follows a link once; undefined if no response arrived. */
async function follow(url: string, address: string): Promise<number | undefined> {
  try {
    const headers = { "x-forwarded-for": address };
    return (await fetch(url, { redirect: "manual", headers })).status;
  } catch {
    // The redirector was killed; its replacement needs a moment.
    await Bun.sleep(20);
    return undefined;
  }
}
