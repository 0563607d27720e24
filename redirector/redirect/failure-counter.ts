/**
 * Counts failed requests by link, or by domain and alias. Does not count `HEAD` requests and those
 * for about pages.
 */
import { copySlice } from "../../shared/bytes.ts";
import type { LinkFailure } from "../../shared/contracts/failure-reasons.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import { ID_BYTES, readUuid } from "../../shared/uuid-bytes.ts";
import type { DomainSettingsCache } from "../cache/domain-settings.ts";
import type { FailureReporter } from "../failures/reporter.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import { normalizePath } from "../http/path.ts";
import type { RequestHead } from "../http/request-head.ts";
import { ABOUT, readAliasPath } from "./beyond-alias.ts";
import type { Failure } from "./decision.ts";

type FailedLink = Pick<CachedLink, "ids" | "mode">;

type CounterDeps = {
  failures: Pick<FailureReporter, "countLink" | "countUnknownAlias">;
  domains: Pick<DomainSettingsCache, "get">;
  /** The domain that a `Host` resolves to. */
  domainOf: (host: string) => string | undefined;
};

export type FailureCounter = ReturnType<typeof createFailureCounter>;

export function createFailureCounter({ failures, domains, domainOf }: CounterDeps) {
  function countLink(reason: LinkFailure, { ids, mode }: FailedLink, domain: string): void {
    const { bytes, start } = ids;
    failures.countLink({
      link_id: readUuid(bytes, start),
      account_id: readUuid(bytes, start + ID_BYTES),
      mode,
      domain,
      reason,
    });
  }

  function count(head: RequestHead, failure: Failure | undefined): void {
    const domain = domainOf(head.host);
    if (failure === undefined || domain === undefined || head.method === "HEAD") return;
    const path = normalizePath(decodeLatin1(head.bytes, head.path.start, head.path.end));
    if (path === undefined || path.endsWith(ABOUT)) return;
    if (failure.reason !== "unknown_alias") countLink(failure.reason, failure.link, domain);
    // On the service's own domain, an alias without a link has no owner.
    else if (domain !== DEFAULT_DOMAIN) {
      const alias = readAliasPath(path)?.alias ?? path.slice(1);
      const isFolded = domains.get(domain)?.fold === "all";
      failures.countUnknownAlias(domain, isFolded ? alias.toLowerCase() : alias);
    }
  }

  return {
    count,
    /**
     * Returns a function that counts a reached limit; it may be called after request and link have
     * left memory.
     */
    onLimitReached(head: RequestHead, link: FailedLink): () => void {
      const domain = domainOf(head.host);
      if (domain === undefined || head.method === "HEAD") return () => undefined;
      const failed = { ids: copySlice(link.ids), mode: link.mode };
      return () => countLink("limit_reached", failed, domain);
    },
  };
}
