/** A local stack that is attacked; the names of hosts that its API looks up lead nowhere. */
import { Dns } from "../../harness/dns.ts";
import { type Stack, startStack } from "../../harness/stack.ts";
import { OneStack } from "./one-stack.ts";

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
