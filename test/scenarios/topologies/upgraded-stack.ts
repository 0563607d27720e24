/** A stack that begins with a program of the past, and goes on with this one on the same data. */
import { admin, type NewAccount } from "../../harness/admin.ts";
import { BULK_LIMITS } from "../../harness/bulk-links.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../../harness/stack.ts";
import { extractProgramBefore } from "./old-program.ts";
import { OneStack } from "./one-stack.ts";

/** What the last program whose workers inserted each segment by itself had not. */
export const BATCHES = "worker/batches/owner.ts";

export class UpgradedStack extends OneStack {
  readonly #dataDir: string;
  /** Of the stack that ran last: while none runs, visitors ask there. */
  #urls: { api: string; short: string };

  /** The old program comes from the history of `repository`. Throws where it is not in there. */
  static async start(repository: string): Promise<UpgradedStack> {
    const old = extractProgramBefore(repository, BATCHES);
    if (old === undefined)
      throw new Error(`The version before ${BATCHES} is not in the history of this checkout.`);
    const dataDir = createDataDir();
    try {
      return new UpgradedStack(await startStack({ root: old.root, dataDir }), dataDir, old.remove);
    } catch (error) {
      removeDataDir(dataDir);
      old.remove();
      throw error;
    }
  }

  private constructor(stack: Stack, dataDir: string, removeOld: () => void) {
    super(stack);
    this.#dataDir = dataDir;
    this.#urls = this.#readUrls();
    this.resources.defer(removeOld);
    this.resources.defer(() => removeDataDir(dataDir));
    this.resources.defer(async () => void (await this.stack.stop()));
  }

  /** Stops the old program, and starts this one. */
  async upgrade(): Promise<void> {
    await this.stack.stop();
    this.replaceStack(await startStack({ dataDir: this.#dataDir }));
    this.#urls = this.#readUrls();
  }

  override apis(): readonly string[] {
    return [this.#urls.api];
  }

  override redirectors(): readonly string[] {
    return [this.#urls.short];
  }

  /** By the old program, whose database lacks tables of this one. */
  override async createKey(): Promise<string> {
    const limits = ["--limits", JSON.stringify(BULK_LIMITS)];
    const account = ["accounts", "create", "--name", "Upgrade", "--plan", "enterprise", "--key"];
    return (await admin<NewAccount>(this.stack, [...account, ...limits])).key;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
  }

  #readUrls(): { api: string; short: string } {
    const { api_url: api, short_url: short } = this.stack.info();
    return { api, short };
  }
}
