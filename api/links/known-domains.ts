/** Checks that a domain is available to an account's links. */
import type { DomainService } from "../domains/service.ts";
import { invalidField } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";

/** Maximum domains that an error names. */
const NAMED_MAX = 10;

type Deps = {
  domains: Pick<DomainService, "findHosts">;
  /** Whether a host belongs to the service's own short domain, which is called `ownHost`. */
  isOwnHost: (host: string) => boolean;
  ownHost: string;
};

/**
 * Throws `invalid_request` for a host, in lower case, that is neither the service's own nor a
 * domain of the account.
 */
export async function requireKnownDomains(
  { domains, isOwnHost, ownHost }: Deps,
  owner: AccountScope,
  hosts: readonly string[],
  param: string,
): Promise<void> {
  const customHosts = hosts.filter((host) => !isOwnHost(host));
  if (customHosts.length === 0) return;
  const { known, others } = await domains.findHosts(owner, customHosts, NAMED_MAX);
  if (customHosts.every((host) => known.includes(host))) return;
  const names = [ownHost, ...known, ...others].slice(0, NAMED_MAX).join(", ");
  throw invalidField(param, `must be a domain of the account, such as ${names}`);
}
