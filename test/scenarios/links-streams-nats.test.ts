/**
 * Goal: the shipped NATS configuration lets processes use a links feed of four streams, also from a
 * far region.
 */
import { expect, setDefaultTimeout, test } from "bun:test";

import { linksStreams } from "../../shared/contracts/links-streams.ts";
import { createAccount } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startNatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats-versions.ts";
import { canCreateNetworkHosts } from "../harness/netns.ts";
import { withOwnDatabase } from "../harness/own-database.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { startStack } from "../harness/stack.ts";
import { startTwoRegions } from "../regions/system.ts";

setDefaultTimeout(300_000);

const TIMEOUT_MS = 60_000;

const LINKS_STREAMS = "4";

/** Links of which each stream has some. */
const ALIASES = Array.from({ length: 24 }, (_, i) => `divided-${i}`);

async function createLinks(apiUrl: string, key: string): Promise<void> {
  for (const alias of ALIASES) {
    const body = { alias, url: `https://example.com/${alias}` };
    const { status, headers } = await call(`${apiUrl}/v1/links`, { key, body });
    expect([status, headers.get("x-propagation")]).toEqual([201, null]);
  }
}

const expectRedirects = (origin: string): Promise<void> =>
  eventually(async () => {
    for (const alias of ALIASES) {
      const { headers } = await callOnce(`${origin}/${alias}`);
      expect(headers.get("location")).toBe(`https://example.com/${alias}`);
    }
  }, TIMEOUT_MS);

const expectNoWarning = (metricsUrl: string): Promise<void> =>
  eventually(async () => {
    const { status, body } = await callOnce(`${metricsUrl}/readyz`);
    expect([status, body]).toEqual([200, expect.objectContaining({ warnings: {} })]);
  }, TIMEOUT_MS);

test("with the users of deploy/nats, links of all streams reach the redirectors", async () => {
  await using started = await startStack();
  const stack = await withOwnDatabase(started, "streams");
  await using cleanup = new AsyncDisposableStack();
  await using nats = await startNatsCluster(await ownNatsServer(), { count: 1 });
  const environment = (user: "api" | "redirector") => ({
    ...nats.env,
    NATS_URL: nats.url(user),
    LINKS_STREAMS,
  });
  const api = await startApi(stack, environment("api"));
  cleanup.defer(() => api.stop());
  const redirector = await startRedirector(stack, environment("redirector"));
  cleanup.defer(() => redirector.stop());
  for (const { metricsUrl } of [api, redirector]) await expectNoWarning(metricsUrl);
  const { key } = await createAccount(stack, "pro");
  await createLinks(api.url, key);
  await expectRedirects(redirector.url);
  // The API's user may delete a stream that NATS no longer knows its way in, and no other.
  const user = await nats.connect("api");
  const manager = await user.jetstreamManager();
  for (const { name } of linksStreams(4)) expect(await manager.streams.delete(name)).toBe(true);
  expect(await manager.streams.delete("CLICKS").catch(() => "refused")).toBe("refused");
  await user.close();
  for (const { metricsUrl } of [api, redirector]) await expectNoWarning(metricsUrl);
  await expectRedirects(redirector.url);
  expect(redirector.output()).not.toContain("PERMISSIONS");
});

const possible = canCreateNetworkHosts();
if (!possible)
  console.warn("\n!!! Network namespaces are not permitted here: regions are NOT TESTED\n");

test.skipIf(!possible)("a far region has a mirror of each stream", async () => {
  await using system = await startTwoRegions(await ownNatsServer(), LINKS_STREAMS);
  const { key } = await createAccount(system.stack, "pro");
  await createLinks(system.stack.info().api_url, key);
  const redirector = await system.startFarRedirector();
  await expectRedirects(redirector.url);
  const checked: unknown = JSON.parse(await system.region(system.far, "check", "--json"));
  expect(checked).toEqual(
    linksStreams(4).map(({ name }) =>
      expect.objectContaining({ stream: name, from: "hub", problem: null }),
    ),
  );
  await system.region(system.far, "mirror", "--links-streams", LINKS_STREAMS, "--recreate");
  await eventually(() => system.region(system.far, "check"), TIMEOUT_MS);
  await expectNoWarning(redirector.metricsUrl);
  await expectRedirects(redirector.url);
});
