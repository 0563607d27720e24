/**
 * Goal: redirectors on machines of their own go on while the way to everything else is cut, and are of one
 * mind with it again afterwards. Network namespaces are the machines.
 */
import { expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { canMakeMachines, makeMachine } from "../harness/machines.ts";
import { freePort } from "../harness/ports.ts";
import { startRedirector } from "../harness/processes.ts";
import { startRelay } from "../harness/relay.ts";
import { startStack } from "../harness/stack.ts";

const CUT_MS = 60_000;
const BACK_MS = 60_000;

const possible = canMakeMachines();
if (!possible)
  console.warn("\n!!! Network namespaces are not permitted here: machines are NOT TESTED\n");

test.skipIf(!possible)(
  "a machine that is cut off for a minute goes on, and catches up",
  async () => {
    await using stack = await startStack();
    const { key } = await createAccount(stack, "enterprise");
    const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
    const natsPort = Number(new URL(stack.info().nats_url).port);
    const machines = [makeMachine(1), makeMachine(2)];
    await using cleanup = new AsyncDisposableStack();
    const hosts = await Promise.all(
      machines.map(async (machine) => {
        const nats = startRelay(natsPort, machine.servicesAddress);
        const port = freePort();
        const env = {
          NATS_URL: `nats://${machine.servicesAddress}:${nats.port}`,
          REDIRECTOR_HOST: "0.0.0.0",
          REDIRECTOR_PORT: String(port),
          SHORT_HOSTS: machine.peopleAddress,
        };
        const redirector = await startRedirector(stack, env, machine.within);
        cleanup.defer(async () => {
          await redirector.stop();
          nats.stop();
          machine.remove();
        });
        return { machine, url: `http://${machine.peopleAddress}:${port}` };
      }),
    );
    const [cut, whole] = hosts;
    if (cut === undefined || whole === undefined) throw new Error("There are two machines.");

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
      const told: string[] = [];
      for (const link of links) told.push(await follow(base, link));
      return told;
    };
    const before = links.map((_, i) => `302 https://example.com/${i}`);
    const after = before.map((told, i) => (i === 9 ? "404" : i % 2 === 0 ? `${told}/new` : told));
    for (const { url } of hosts) expect(await followAll(url)).toEqual(before);

    cut.machine.cut();
    const cutAt = Date.now();
    for (const [i, { id }] of links.entries()) {
      if (i % 2 === 0) await client.links.update(id, { url: `https://example.com/${i}/new` });
    }
    await client.links.delete(links[9]?.id ?? "");
    await eventually(async () => expect(await followAll(whole.url)).toEqual(after), BACK_MS);
    while (Date.now() - cutAt < CUT_MS) {
      expect(await followAll(cut.url)).toEqual(before);
      await Bun.sleep(1_000);
    }
    cut.machine.mend();
    await eventually(async () => expect(await followAll(cut.url)).toEqual(after), BACK_MS);
    await eventually(async () => {
      for (const { id } of links.slice(0, 9)) {
        expect((await client.links.get(id)).clicks).toBe(counted.get(id) ?? 0);
      }
    }, BACK_MS);
  },
);
