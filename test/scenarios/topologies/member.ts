/** A process that a scenario has started, and that is started again when it is killed. */
import { eventually } from "../../harness/eventually.ts";
import type { ExtraProcess } from "../../harness/processes.ts";

const RESTART_TIMEOUT_MS = 60_000;

type Start = (env?: Record<string, string>) => Promise<ExtraProcess>;

export class Member {
  readonly #start: Start;
  #current: ExtraProcess;
  #output = "";

  /** Starts it; each start has the settings that it is given, besides its own. */
  static async start(start: Start): Promise<Member> {
    return new Member(start, await start());
  }

  private constructor(start: Start, current: ExtraProcess) {
    this.#start = start;
    this.#current = current;
  }

  get url(): string {
    return this.#current.url;
  }

  get metricsUrl(): string {
    return this.#current.metricsUrl;
  }

  get pid(): number {
    return this.#current.pid;
  }

  /** Kills it, and starts it again, with further settings. */
  async kill(env?: Record<string, string>): Promise<void> {
    const killed = this.#current;
    try {
      process.kill(killed.pid, "SIGKILL");
    } catch (cause) {
      throw new Error(`A process had ended by itself:\n${killed.output()}`, { cause });
    }
    this.#current = await eventually(() => this.#start(env), RESTART_TIMEOUT_MS);
    this.#output += killed.output();
  }

  stop(): Promise<void> {
    return this.#current.stop();
  }

  /** What all of them said. */
  output(): string {
    return this.#output + this.#current.output();
  }
}
