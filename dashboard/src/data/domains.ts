/** The domains of the account. */
import { useQuery } from "@tanstack/react-query";

import { readableHost } from "../../../shared/contracts/readable-host.ts";
import { getClient } from "./http.ts";
import { useAccountContext } from "./session.ts";

/** Queries the domains of the account; none until they are there. */
export function useDomains() {
  const { scope } = useAccountContext();
  const { data } = useQuery({
    queryKey: ["domains", scope],
    queryFn: () => Array.fromAsync(getClient(scope).domains.all()),
  });
  return data ?? [];
}

/** The domains that a link can be on, as options: the service's own has the value "". */
export function useDomainOptions(): { value: string; label: string }[] {
  const { session } = useAccountContext();
  const verified = useDomains().filter(({ status }) => status === "verified");
  return [
    { value: "", label: new URL(session.short_url).host },
    ...verified.map(({ domain }) => ({ value: domain, label: readableHost(domain) })),
  ];
}
