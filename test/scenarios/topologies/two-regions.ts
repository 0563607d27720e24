/**
 * Two regions: a whole stack on the hub's NATS server, and a far region in a network namespace,
 * with a NATS server of its own and redirectors. Between them are 80 ms, and a link that can be
 * cut. Everything runs from the shipped files, and the streams are created by the commands of
 * docs/regions.md.
 */
import type { NatsConnection } from "nats";

import { findFreePort } from "../../../deploy/local/ports.ts";
import { LINK_LOG_STREAM } from "../../../shared/links-log/tail.ts";
import { eventually } from "../../harness/eventually.ts";
import { runProgram } from "../../harness/executable.ts";
import { NatsCluster } from "../../harness/nats-cluster.ts";
import type { NatsProgram } from "../../harness/nats.ts";
import { NetworkHost } from "../../harness/netns.ts";
import { type ExtraProcess, startRedirector } from "../../harness/processes.ts";
import { type Stack, startStack } from "../../harness/stack.ts";
import { TcpProxy } from "../../harness/tcp-proxy.ts";
import { OneStack } from "./one-stack.ts";
import { withJetStream } from "./topology.ts";

/** Each way; as from Frankfurt to Virginia and back. */
const DELAY_MS = 40;

/** The domain of the far region. */
const FAR = "far";

const START_TIMEOUT_MS = 30_000;

/** The regions, and what is between them. */
type Regions = {
  hub: NatsCluster;
  far: NatsCluster;
  host: NetworkHost;
  distance: TcpProxy;
  redirectors: ExtraProcess[];
};

export class TwoRegions extends OneStack {
  override readonly isMirrored = true;
  readonly hub: NatsCluster;
  readonly far: NatsCluster;
  /** Between the regions; it can be cut off. */
  readonly host: NetworkHost;
  readonly #distance: TcpProxy;
  readonly #farRedirectors: ExtraProcess[];

  static async start(program: NatsProgram): Promise<TwoRegions> {
    await using started = new AsyncDisposableStack();
    const host = new NetworkHost();
    started.defer(() => host.remove());
    const { servicesAddress, clientAddress, within } = host;
    const server = { count: 1, tls: false };
    const hubRegion = { domain: "hub", addresses: [servicesAddress] } as const;
    const hub = started.use(await NatsCluster.start(program, { ...server, region: hubRegion }));
    const NATS_URL = hub.url("operator");
    const stack = started.use(await startStack({ empty: true, env: { NATS_URL } }));
    const distance = new TcpProxy(hub.servers[0]?.leafPort ?? 0, servicesAddress, DELAY_MS);
    started.defer(() => distance.stop());
    const ca = hub.env.NODE_EXTRA_CA_CERTS;
    const region = { domain: FAR, hub: [`${servicesAddress}:${distance.port}`], ca };
    const place = { address: clientAddress, within };
    const far = started.use(await NatsCluster.start(program, { ...server, ...place, region }));
    await runCommand(far, "mirror");
    await runCommand(hub, "collect", FAR);
    await eventually(() => checkAll([far, hub]), START_TIMEOUT_MS);
    const redirectors: ExtraProcess[] = [];
    started.defer(async () => {
      for (const redirector of redirectors) await redirector.stop();
    });
    redirectors.push(await startFar(stack, far, host));
    return new TwoRegions(stack, started.move(), { hub, far, host, distance, redirectors });
  }

  private constructor(
    stack: Stack,
    resources: AsyncDisposableStack,
    { hub, far, host, distance, redirectors }: Regions,
  ) {
    super(stack, resources);
    this.hub = hub;
    this.far = far;
    this.host = host;
    this.#distance = distance;
    this.#farRedirectors = redirectors;
  }

  /** Those of the far region. */
  override redirectors(): readonly string[] {
    return this.#farRedirectors.map(({ url }) => url);
  }

  farRedirectors(): readonly ExtraProcess[] {
    return this.#farRedirectors;
  }

  override connectNats(): Promise<NatsConnection> {
    return this.hub.connect("operator");
  }

  override connectLinksNats(): Promise<NatsConnection> {
    return this.far.connect("operator");
  }

  override expectRunning(): Promise<void> {
    return checkAll([this.far, this.hub]);
  }

  override logs(): Record<string, string> {
    return { ...super.logs(), "hub.log": this.hub.output(), "far.log": this.far.output() };
  }

  /** Starts a redirector of the far region, which follows the links log from now on. */
  async startFarRedirector(): Promise<ExtraProcess> {
    const redirector = await startFar(this.stack, this.far, this.host);
    this.#farRedirectors.push(redirector);
    return redirector;
  }

  /** Stops one that was started last. */
  async stopLastRedirector(): Promise<void> {
    await this.#farRedirectors.pop()?.stop();
  }

  /** Bytes that have crossed between the regions, to the hub and from it. */
  passed(): { to: number; from: number } {
    return this.#distance.passed();
  }

  /** The mirror has all that the hub has. */
  async expectMirrored(): Promise<void> {
    await eventually(async () => {
      const [there, here] = await Promise.all([lastSequence(this.hub), lastSequence(this.far)]);
      if (here < there - HEARTBEATS_UNDERWAY_MAX)
        throw new Error(`The mirror is at ${here} of ${there}.`);
    }, START_TIMEOUT_MS);
  }
}

/** Runs `shorthop region …` in a region; throws its messages when it fails. */
const runCommand = (nats: NatsCluster, ...args: string[]): Promise<string> =>
  runProgram(["region", ...args], { ...nats.env, NATS_URL: nats.url("operator") });

async function checkAll(regions: readonly NatsCluster[]): Promise<void> {
  for (const nats of regions) await runCommand(nats, "check");
}

/** Starts a redirector in the far region. */
async function startFar(
  stack: Stack,
  far: NatsCluster,
  { within, clientAddress }: NetworkHost,
): Promise<ExtraProcess> {
  const env = {
    NATS_URL: far.url("redirector"),
    REDIRECTOR_HOST: "0.0.0.0",
    REDIRECTOR_PORT: String(findFreePort()),
    REDIRECTOR_METRICS_HOST: clientAddress,
    SHORT_HOSTS: clientAddress,
    FAILURES_INTERVAL_SECONDS: "1",
  };
  const started = await startRedirector(stack, env, within);
  return { ...started, url: `http://${clientAddress}:${new URL(started.url).port}` };
}

/** Between two requests for positions a heartbeat may arrive in the hub. */
const HEARTBEATS_UNDERWAY_MAX = 1;

const lastSequence = (nats: NatsCluster): Promise<number> =>
  withJetStream(nats.connect("operator"), async ({ streams }) => {
    const { state } = await streams.info(LINK_LOG_STREAM);
    return state.last_seq;
  });
