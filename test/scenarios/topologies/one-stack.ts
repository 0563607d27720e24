/** A local stack as it is started by `npm start`: the smallest topology, on which others build. */
import { existsSync } from "node:fs";

import { connect, type NatsConnection } from "nats";

import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import { natsLogin } from "../../../shared/nats.ts";
import { createAccount, UNLIMITED } from "../../harness/admin.ts";
import { Dns } from "../../harness/dns.ts";
import { findProcesses, type Stack, startStack } from "../../harness/stack.ts";
import type { Topology } from "./topology.ts";

const NATS_TIMEOUT_MS = 2_000;

export class OneStack implements Topology {
  readonly isMirrored: boolean = false;
  /** What ends with it, in the reverse order. */
  protected readonly resources = new AsyncDisposableStack();
  readonly stack: Stack;

  constructor(stack: Stack) {
    this.stack = stack;
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
    const nats = await connect({
      ...natsLogin(this.stack.info().nats_url),
      timeout: NATS_TIMEOUT_MS,
      reconnect: false,
    });
    try {
      await (await nats.jetstreamManager()).streams.info(CLICKS_STREAM);
    } finally {
      await nats.close();
    }
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
    await this.stack[Symbol.asyncDispose]();
  }
}

/** A local stack that is attacked; the names of hosts that its API looks up lead nowhere. */
export class AttackedStack extends OneStack {
  static async start(): Promise<AttackedStack> {
    const dns = await Dns.start();
    try {
      return new AttackedStack(await startStack({ env: { DNS_SERVERS: dns.address } }), dns);
    } catch (error) {
      await dns[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(stack: Stack, dns: Dns) {
    super(stack);
    this.resources.use(dns);
  }
}
