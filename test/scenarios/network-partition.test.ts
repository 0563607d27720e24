/**
 * Goal: redirectors on separate hosts keep working while they are cut off from everything else, and
 * are consistent with it afterwards. The hosts are network namespaces.
 */
import { expect, test } from "bun:test";

import { connect } from "nats";

import { createClient } from "../../clients/typescript/src/index.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { removeUnusedConsumers } from "../harness/log-consumers.ts";
import { canCreateNetworkHosts, NetworkHost } from "../harness/netns.ts";
import { startRedirector } from "../harness/processes.ts";
import { startStack } from "../harness/stack.ts";
import { replaceHost, TcpProxy } from "../harness/tcp-proxy.ts";

const RECOVERY_TIMEOUT_MS = 60_000;

/** Between two rounds of requests while the host is cut off. */
const PAUSE_MS = 200;

const possible = canCreateNetworkHosts();
if (!possible)
  console.warn(
    "\n!!! Network namespaces are not permitted here: network partitions are NOT TESTED\n",
  );

test.skipIf(!possible)(
  "a redirector keeps working while its host is cut off until both ends give the connection up, and catches up",
  async () => {
    await using stack = await startStack();
    const { key } = await createAccount(stack, "enterprise");
    const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
    const natsPort = Number(new URL(stack.info().nats_url).port);
    const machines = [new NetworkHost(1), new NetworkHost(2)];
    await using cleanup = new AsyncDisposableStack();
    const hosts = await Promise.all(
      machines.map(async (host) => {
        const nats = new TcpProxy(natsPort, host.servicesAddress);
        const port = findFreePort();
        const env = {
          NATS_URL: replaceHost(stack.info().nats_url, host.servicesAddress, nats.port),
          REDIRECTOR_HOST: "0.0.0.0",
          REDIRECTOR_PORT: String(port),
          SHORT_HOSTS: host.clientAddress,
        };
        const redirector = await startRedirector(stack, env, host.within);
        cleanup.defer(async () => {
          await redirector.stop();
          nats.stop();
          host.remove();
        });
        return { ...redirector, host, url: `http://${host.clientAddress}:${port}` };
      }),
    );
    const [cut, connected] = hosts;
    if (cut === undefined || connected === undefined) throw new Error("There must be two hosts.");

    const links = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        client.links.create({ url: `https://example.com/${i}` }),
      ),
    );
    const counted = new Map(links.map(({ id }) => [id, 0]));
    const follow = async (base: string, { id, alias }: (typeof links)[number]) => {
      const { status, headers } = await call(`${base}/${alias}`);
      if (status === 302) counted.set(id, (counted.get(id) ?? 0) + 1);
      return `${status} ${headers.get("location") ?? ""}`.trim();
    };
    const followAll = async (base: string) => {
      const results: string[] = [];
      for (const link of links) results.push(await follow(base, link));
      return results;
    };
    const before = links.map((_, i) => `302 https://example.com/${i}`);
    const after = before.map((result, i) =>
      i === 9 ? "404" : i % 2 === 0 ? `${result}/new` : result,
    );
    for (const { url } of hosts) expect(await followAll(url)).toEqual(before);

    cut.host.cut();
    for (const [i, { id }] of links.entries()) {
      if (i % 2 === 0) await client.links.update(id, { url: `https://example.com/${i}/new` });
    }
    await client.links.delete(links[9]?.id ?? "");
    await eventually(
      async () => expect(await followAll(connected.url)).toEqual(after),
      RECOVERY_TIMEOUT_MS,
    );
    // Nobody says that the connection has ended: the redirector misses pings, and the server its
    // requests.
    let isGivenUp = false;
    const givingUp = eventually(async () => {
      expect(cut.output()).toContain("nats_disconnected");
      const { used, unused } = await removeUnusedConsumers(() =>
        connect(natsLogin(stack.info().nats_url)),
      );
      // The stack's redirector uses one, too.
      expect([used.length, unused.length]).toEqual([hosts.length, 0]);
    }, RECOVERY_TIMEOUT_MS).finally(() => (isGivenUp = true));
    const following = (async () => {
      while (!isGivenUp) {
        expect(await followAll(cut.url)).toEqual(before);
        await Bun.sleep(PAUSE_MS);
      }
    })();
    await Promise.all([givingUp, following]);
    expect(await followAll(cut.url)).toEqual(before);
    cut.host.mend();
    await eventually(
      async () => expect(await followAll(cut.url)).toEqual(after),
      RECOVERY_TIMEOUT_MS,
    );
    await eventually(async () => {
      for (const { id } of links.slice(0, 9)) {
        expect((await client.links.get(id)).clicks).toBe(counted.get(id) ?? 0);
      }
    }, RECOVERY_TIMEOUT_MS);
  },
);
