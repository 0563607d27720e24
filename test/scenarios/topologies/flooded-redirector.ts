/** A stack with a redirector of its own that can be flooded, without a proxy before it. */
import { residentBytes } from "../../harness/process-usage.ts";
import { type ExtraProcess, startRedirector } from "../../harness/processes.ts";
import { scrape } from "../../harness/prometheus.ts";
import { type Stack, startStack } from "../../harness/stack.ts";
import { OneStack } from "./one-stack.ts";

/** Of the redirector: open connections, and those rejected and evicted since its start. */
type Connections = { open: number; rejected: number; evicted: number };

export class FloodedRedirector extends OneStack {
  readonly redirector: ExtraProcess;

  /** The redirector has these settings. */
  static async start(env: Record<string, string>): Promise<FloodedRedirector> {
    await using started = new AsyncDisposableStack();
    const stack = started.use(await startStack());
    const redirector = started.use(await startRedirector(stack, { TRUSTED_PROXIES: "", ...env }));
    return new FloodedRedirector(stack, started.move(), redirector);
  }

  private constructor(stack: Stack, resources: AsyncDisposableStack, redirector: ExtraProcess) {
    super(stack, resources);
    this.redirector = redirector;
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
    const sum = (suffix: string): number =>
      [...metrics]
        .filter(([key]) => key.startsWith(`shorthop_redirector_connections_${suffix}`))
        .reduce((total, [, value]) => total + value, 0);
    return { open: sum("open"), evicted: sum("evicted_total"), rejected: sum("rejected_total") };
  }
}
