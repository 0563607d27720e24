import type { SharedStack } from "../../harness/stack.ts";
/**
 * A legitimate client, which follows its links and reads them through the API, in a thread of its
 * own, so that an attack does not delay it.
 */
import { createClientTask } from "../../hostile/fixtures.ts";
import type { ClientReport } from "../../hostile/legitimate-client.ts";
import type { Load } from "../parts.ts";

const CLIENT = new URL("../../hostile/legitimate-client.ts", import.meta.url).href;

export class LegitimateClient implements Load {
  /** What it measured alone, and beside the last fault. */
  readonly alone: ClientReport;
  beside: ClientReport;
  sent = 0;
  readonly #thread: Worker;

  /** Starts it, and measures it alone for a while. */
  static async start(
    { stack }: { stack: SharedStack },
    aloneMs: number,
  ): Promise<LegitimateClient> {
    const thread = new Worker(CLIENT);
    thread.postMessage(await createClientTask(stack));
    await Bun.sleep(aloneMs);
    return new LegitimateClient(thread, await report(thread));
  }

  private constructor(thread: Worker, alone: ClientReport) {
    this.#thread = thread;
    this.alone = alone;
    this.beside = alone;
  }

  async during(_: string, inject: () => Promise<void>): Promise<void> {
    await report(this.#thread);
    await inject();
    this.beside = await report(this.#thread);
    this.sent += this.beside.redirector.count;
  }

  async stop(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#thread.terminate();
    return Promise.resolve();
  }
}

/** What it has measured since the last report. */
const report = (thread: Worker): Promise<ClientReport> =>
  new Promise((resolve) => {
    thread.addEventListener("message", ({ data }) => resolve(data), { once: true });
    thread.postMessage("report");
  });

/** No load: what is measured needs an idle stack. */
export class Idle implements Load {
  readonly sent = 0;

  during(_: string, inject: () => Promise<void>): Promise<void> {
    return inject();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
