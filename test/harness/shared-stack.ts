/**
 * A stack for tests that leave it undisturbed: they neither end nor reconfigure its processes, and
 * what they create is in accounts, hosts and aliases of their own. The runner starts one for many
 * files.
 */
import type { Dns } from "./dns.ts";
import { attachStack, type SharedStack, startStack } from "./stack.ts";

/** Uses the runner's stack, or starts one; with `dns`, its API asks this server. */
export async function useStack({ dns }: { dns?: Dns } = {}): Promise<SharedStack> {
  const dataDir = process.env["SHORTHOP_TEST_STACK"];
  if (dataDir !== undefined) return attachStack(dataDir);
  return await startStack(dns === undefined ? {} : { env: { DNS_SERVERS: dns.address } });
}
