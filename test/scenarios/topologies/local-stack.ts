/**
 * A local stack with a second redirector, and a second worker whose ClickHouse is behind a proxy
 * that can fail, lose responses, and hold statements.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { LossyClickHouse } from "../../harness/lossy-clickhouse.ts";
import { startRedirector, startWorker } from "../../harness/processes.ts";
import { type Stack, startStack } from "../../harness/stack.ts";
import { Member } from "./member.ts";
import { OneStack } from "./one-stack.ts";

/** Time between two ends of NATS: the stack stops if a service ends five times within a minute. */
const NATS_SPACING_MS = 16_000;

export class LocalStack extends OneStack {
  readonly lossy: LossyClickHouse;
  readonly redirector: Member;
  readonly worker: Member;
  #natsEndedAt = 0;

  static async start(): Promise<LocalStack> {
    await using started = new AsyncDisposableStack();
    const stack = started.use(await startStack());
    const lossy = new LossyClickHouse(() => stack.info().clickhouse_url);
    started.defer(() => lossy.stop());
    const JOURNAL_DIR = join(stack.dataDir, "second-journal");
    mkdirSync(JOURNAL_DIR);
    const redirector = await Member.start((env) => startRedirector(stack, { JOURNAL_DIR, ...env }));
    started.defer(() => redirector.stop());
    const worker = await Member.start((env) =>
      startWorker(stack, { CLICKHOUSE_URL: lossy.url, ...env }),
    );
    started.defer(() => worker.stop());
    return new LocalStack(stack, started.move(), { lossy, redirector, worker });
  }

  private constructor(
    stack: Stack,
    resources: AsyncDisposableStack,
    parts: { lossy: LossyClickHouse; redirector: Member; worker: Member },
  ) {
    super(stack, resources);
    this.lossy = parts.lossy;
    this.redirector = parts.redirector;
    this.worker = parts.worker;
  }

  override redirectors(): readonly string[] {
    return [this.stack.info().short_url, this.redirector.url];
  }

  override logs(): Record<string, string> {
    return { ...super.logs(), "second-worker.log": this.worker.output() };
  }

  /** Waits until NATS may end again. */
  async spaceNatsEnds(): Promise<void> {
    await Bun.sleep(Math.max(0, this.#natsEndedAt + NATS_SPACING_MS - Date.now()));
    this.#natsEndedAt = Date.now();
  }
}
