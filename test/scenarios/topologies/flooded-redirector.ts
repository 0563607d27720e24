/** A stack with a redirector of its own that can be flooded, without a proxy before it. */
import { residentBytes } from "../../harness/process-usage.ts";
import { type ExtraProcess, startRedirector } from "../../harness/processes.ts";
import { scrape } from "../../harness/prometheus.ts";
import { type Stack, startStack } from "../../harness/stack.ts";
import { OneStack } from "./one-stack.ts";

/** Of the redirector: open connections, and those rejected and evicted since its start. */
type Connections = { open: number; rejected: number; evicted: number };

const nameOf = (suffix: string): string => `shorthop_redirector_connections_${suffix}`;

export class FloodedRedirector extends OneStack {
  readonly redirector: ExtraProcess;

  /** The redirector has these settings. */
  static async start(env: Record<string, string>): Promise<FloodedRedirector> {
    const stack = await startStack();
    try {
      const redirector = await startRedirector(stack, { TRUSTED_PROXIES: "", ...env });
      return new FloodedRedirector(stack, redirector);
    } catch (error) {
      await stack[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(stack: Stack, redirector: ExtraProcess) {
    super(stack);
    this.redirector = redirector;
    this.resources.defer(() => redirector.stop());
  }

  override redirectors(): readonly string[] {
    return [this.redirector.url];
  }

  override logs(): Record<string, string> {
    return { ...super.logs(), "redirector.log": this.redirector.output() };
  }

  memoryMiB(): number {
    return Math.round(residentBytes(this.redirector.pid) / 2 ** 20);
  }

  async connections(): Promise<Connections> {
    const metrics = await scrape(this.redirector.metricsUrl);
    let rejected = 0;
    for (const [key, value] of metrics)
      if (key.startsWith(nameOf("rejected_total"))) rejected += value;
    return {
      open: metrics.get(nameOf("open")) ?? 0,
      evicted: metrics.get(nameOf("evicted_total")) ?? 0,
      rejected,
    };
  }
}
