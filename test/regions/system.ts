/**
 * Two regions: a whole stack on the hub's NATS server, and a far region in a network namespace,
 * with a NATS server of its own and redirectors. Between them are 80 ms, and a link that can be
 * cut. Everything runs from the shipped files, and the streams are created by the commands of
 * docs/regions.md.
 */
import { eventually } from "../harness/eventually.ts";
import { commandOf } from "../harness/executable.ts";
import { type NatsCluster, startNatsCluster } from "../harness/nats-cluster.ts";
import type { NatsProgram } from "../harness/nats-versions.ts";
import { createNetworkHost, type NetworkHost } from "../harness/netns.ts";
import { freePort } from "../harness/ports.ts";
import { type ExtraProcess, startRedirector } from "../harness/processes.ts";
import { PROJECT_DIR, type Stack, startStack } from "../harness/stack.ts";
import { startTcpProxy } from "../harness/tcp-proxy.ts";

/** Each way; as from Frankfurt to Virginia and back. */
const DELAY_MS = 40;

/** The domain of the far region. */
const FAR = "far";

const START_TIMEOUT_MS = 30_000;

export type TwoRegions = {
  stack: Stack;
  hub: NatsCluster;
  far: NatsCluster;
  /** A redirector of the far region, which follows the links log from now on. */
  startFarRedirector(): Promise<ExtraProcess>;
  host: NetworkHost;
  /** Bytes that have crossed between the regions, to the hub and from it. */
  passed(): { to: number; from: number };
  /** Runs `shorthop region …` in a region; throws its messages when it fails. */
  region(nats: NatsCluster, ...args: string[]): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function startTwoRegions(program: NatsProgram): Promise<TwoRegions> {
  await using cleanup = new AsyncDisposableStack();
  // Another number than those of other tests, which may run at the same time.
  const host = createNetworkHost(3);
  cleanup.defer(host.remove);
  const hubRegion = { domain: "hub", addresses: [host.servicesAddress] } as const;
  const hub = cleanup.use(
    await startNatsCluster(program, { count: 1, tls: false, region: hubRegion }),
  );
  const stack = cleanup.use(
    await startStack({ empty: true, env: { NATS_URL: hub.url("operator") } }),
  );

  const leafPort = hub.servers[0]?.leafPort ?? 0;
  const distance = startTcpProxy(leafPort, host.servicesAddress, DELAY_MS);
  cleanup.defer(distance.stop);
  const far = cleanup.use(
    await startNatsCluster(program, {
      count: 1,
      tls: false,
      address: host.clientAddress,
      within: host.within,
      region: {
        domain: FAR,
        hub: [`${host.servicesAddress}:${distance.port}`],
        ca: hub.env.NODE_EXTRA_CA_CERTS,
      },
    }),
  );
  await region(far, "mirror");
  await region(hub, "collect", FAR);
  const redirectors = new AsyncDisposableStack();
  cleanup.use(redirectors);
  for (const nats of [far, hub]) await eventually(() => region(nats, "check"), START_TIMEOUT_MS);
  const kept = cleanup.move();
  return {
    stack,
    hub,
    far,
    async startFarRedirector() {
      const redirector = await startRedirector(stack, farEnvironment(far, host), host.within);
      redirectors.defer(redirector.stop);
      return { ...redirector, url: `http://${host.clientAddress}:${new URL(redirector.url).port}` };
    },
    host,
    passed: distance.passed,
    region,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const farEnvironment = (far: NatsCluster, { clientAddress }: NetworkHost) => ({
  NATS_URL: far.url("redirector"),
  REDIRECTOR_HOST: "0.0.0.0",
  REDIRECTOR_PORT: String(freePort()),
  REDIRECTOR_METRICS_HOST: clientAddress,
  SHORT_HOSTS: clientAddress,
  FAILURES_INTERVAL_SECONDS: "1",
});

async function region(nats: NatsCluster, ...args: string[]): Promise<string> {
  const child = Bun.spawn(await commandOf(["region", ...args]), {
    cwd: PROJECT_DIR,
    env: { ...process.env, ...nats.env, NATS_URL: nats.url("operator") },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`region ${args.join(" ")}: ${stderr}`);
  return stdout;
}
