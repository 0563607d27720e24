/** The look-ups of domains that a request for links needs. */
import type { DomainService } from "../domains/service.ts";
import type { AccountScope } from "../http/principal.ts";

type Lookups = Pick<DomainService, "requireVerified" | "isCustom">;

/**
 * The look-ups of one request, which are shared by its links: one for each domain that they name,
 * and one for all destinations together.
 */
export function shareLookups(
  domains: Pick<DomainService, "requireVerified" | "findCustom">,
): Lookups {
  const verified = new Map<string, ReturnType<DomainService["requireVerified"]>>();
  let waiting: { hosts: Set<string>; custom: Promise<ReadonlySet<string>> } | undefined;

  /** Collects the hosts of one event loop turn, and looks them up together. */
  function findCustom(host: string): Promise<ReadonlySet<string>> {
    if (waiting === undefined) {
      const hosts = new Set<string>();
      const custom = Promise.resolve().then(() => {
        waiting = undefined;
        return domains.findCustom([...hosts]);
      });
      waiting = { hosts, custom };
    }
    waiting.hosts.add(host);
    return waiting.custom;
  }

  return {
    isCustom: async (host: string) => (await findCustom(host)).has(host),
    requireVerified(owner: AccountScope, name: string) {
      const known = verified.get(name) ?? domains.requireVerified(owner, name);
      verified.set(name, known);
      return known;
    },
  };
}
