/** A local stack as it is started by `npm start`: the smallest topology, on which others build. */
import { existsSync } from "node:fs";

import { connect, type NatsConnection } from "nats";

import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import { natsLogin } from "../../../shared/nats.ts";
import { createAccount, UNLIMITED } from "../../harness/admin.ts";
import { Dns } from "../../harness/dns.ts";
import { findProcesses, type Stack, startStack } from "../../harness/stack.ts";
import { type Topology, withJetStream } from "./topology.ts";

const NATS_TIMEOUT_MS = 2_000;

export class OneStack implements Topology {
  readonly isMirrored: boolean = false;
  readonly stack: Stack;
  readonly #resources: AsyncDisposableStack;

  /** `resources` are what ends with it, the stack among them. */
  constructor(stack: Stack, resources: AsyncDisposableStack) {
    this.stack = stack;
    this.#resources = resources;
  }

  apis(): readonly string[] {
    return [this.stack.info().api_url];
  }

  redirectors(): readonly string[] {
    return [this.stack.info().short_url];
  }

  clickhouseUrl = (): string => this.stack.info().clickhouse_url;

  connectNats(): Promise<NatsConnection> {
    return connect(natsLogin(this.stack.info().nats_url));
  }

  connectLinksNats(): Promise<NatsConnection> {
    return this.connectNats();
  }

  async createKey(): Promise<string> {
    return (await createAccount(this.stack, "enterprise", UNLIMITED)).key;
  }

  async expectRunning(): Promise<void> {
    for (const [name, pid] of Object.entries(this.stack.info().pids))
      if (pid === null || !existsSync(`/proc/${pid}`)) throw new Error(`${name} is not running.`);
    const { nats_url } = this.stack.info();
    const options = { timeout: NATS_TIMEOUT_MS, reconnect: false };
    const nats = connect({ ...natsLogin(nats_url), ...options });
    await withJetStream(nats, ({ streams }) => streams.info(CLICKS_STREAM));
  }

  findLeftovers(): readonly string[] {
    return findProcesses(this.stack.dataDir).map(({ command }) => command);
  }

  describe(): Promise<string> {
    return Promise.resolve("");
  }

  logs(): Record<string, string> {
    return { "stack.log": this.stack.output() };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

/** A local stack that is attacked; the names of hosts that its API looks up lead nowhere. */
export class AttackedStack extends OneStack {
  static async start(): Promise<AttackedStack> {
    await using started = new AsyncDisposableStack();
    const dns = started.use(await Dns.start());
    const stack = started.use(await startStack({ env: { DNS_SERVERS: dns.address } }));
    return new AttackedStack(stack, started.move());
  }
}
