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

export class TwoRegions extends OneStack {
  override readonly isMirrored = true;
  readonly hub: NatsCluster;
  readonly far: NatsCluster;
  /** Between the regions; it can be cut off. */
  readonly host: NetworkHost;
  readonly #distance: TcpProxy;
  readonly #farRedirectors: ExtraProcess[] = [];

  static async start(program: NatsProgram): Promise<TwoRegions> {
    await using cleanup = new AsyncDisposableStack();
    const host = new NetworkHost();
    cleanup.defer(() => host.remove());
    const hubRegion = { domain: "hub", addresses: [host.servicesAddress] } as const;
    const hub = cleanup.use(
      await NatsCluster.start(program, { count: 1, tls: false, region: hubRegion }),
    );
    const stack = cleanup.use(
      await startStack({ empty: true, env: { NATS_URL: hub.url("operator") } }),
    );
    const distance = new TcpProxy(hub.servers[0]?.leafPort ?? 0, host.servicesAddress, DELAY_MS);
    cleanup.defer(() => distance.stop());
    const far = cleanup.use(
      await NatsCluster.start(program, {
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
    const regions = new TwoRegions(stack, { hub, far, host, distance });
    await regions.command(far, "mirror");
    await regions.command(hub, "collect", FAR);
    for (const nats of [far, hub])
      await eventually(() => regions.command(nats, "check"), START_TIMEOUT_MS);
    await regions.startFarRedirector();
    cleanup.move();
    return regions;
  }

  private constructor(
    stack: Stack,
    parts: { hub: NatsCluster; far: NatsCluster; host: NetworkHost; distance: TcpProxy },
  ) {
    super(stack);
    this.hub = parts.hub;
    this.far = parts.far;
    this.host = parts.host;
    this.#distance = parts.distance;
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

  override async expectRunning(): Promise<void> {
    for (const nats of [this.far, this.hub]) await this.command(nats, "check");
  }

  override logs(): Record<string, string> {
    return { ...super.logs(), "hub.log": this.hub.output(), "far.log": this.far.output() };
  }

  /** Starts a redirector of the far region, which follows the links log from now on. */
  async startFarRedirector(): Promise<ExtraProcess> {
    const { within, clientAddress } = this.host;
    const env = farEnvironment(this.far, this.host);
    const started = await startRedirector(this.stack, env, within);
    const redirector = {
      ...started,
      url: `http://${clientAddress}:${new URL(started.url).port}`,
    };
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

  /** Runs `shorthop region …` in a region; throws its messages when it fails. */
  async command(nats: NatsCluster, ...args: string[]): Promise<string> {
    const env = { ...nats.env, NATS_URL: nats.url("operator") };
    return await runProgram(["region", ...args], env);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const redirector of this.#farRedirectors) await redirector.stop();
    await this.far[Symbol.asyncDispose]();
    this.#distance.stop();
    await super[Symbol.asyncDispose]();
    await this.hub[Symbol.asyncDispose]();
    this.host.remove();
  }
}

/** Between two requests for positions a heartbeat may arrive in the hub. */
const HEARTBEATS_UNDERWAY_MAX = 1;

const lastSequence = (nats: NatsCluster): Promise<number> =>
  withJetStream(nats.connect("operator"), async ({ streams }) => {
    const { state } = await streams.info(LINK_LOG_STREAM);
    return state.last_seq;
  });

const farEnvironment = (far: NatsCluster, { clientAddress }: NetworkHost) => ({
  NATS_URL: far.url("redirector"),
  REDIRECTOR_HOST: "0.0.0.0",
  REDIRECTOR_PORT: String(findFreePort()),
  REDIRECTOR_METRICS_HOST: clientAddress,
  SHORT_HOSTS: clientAddress,
  FAILURES_INTERVAL_SECONDS: "1",
});
