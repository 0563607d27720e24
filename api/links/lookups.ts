/**
 * What other resources read of links: analytics selects links by their properties and names them.
 */
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { isStorable } from "../postgres.ts";
import type { LinkServiceDeps } from "./deps.ts";
import { requireKnownDomains } from "./known-domains.ts";
import { buildShortUrl } from "./responses.ts";
import {
  findCreationTimes,
  findFirstCreation,
  findLinkIds,
  findLinkNames,
  findLinkProperties,
} from "./sql.ts";

/**
 * Maximum links that tags and domains can select for analytics: their ids are sent to ClickHouse.
 */
const SELECTED_LINKS_MAX = 100_000;

type LookupDeps = Pick<LinkServiceDeps, "sql" | "domains" | "destinationRules">;

export const createLinkLookups = (deps: LookupDeps) => ({
  ...createTimeLookups(deps),
  ...createPropertyLookups(deps),
});

const createTimeLookups = ({ sql }: LookupDeps) => ({
  /** Creation times (Unix milliseconds) of the owner's links among these ids. */
  async getCreationTimes(owner: AccountScope, ids: readonly Uuid[]): Promise<Map<Uuid, number>> {
    const rows = await findCreationTimes(sql, owner, ids);
    return new Map(rows.map((row) => [row.id, row.created_at.getTime()]));
  },

  /** Creation time (Unix milliseconds) of the owner's oldest link; undefined without links. */
  async getFirstCreationTime(owner: AccountScope): Promise<number | undefined> {
    return (await findFirstCreation(sql, owner))?.getTime();
  },
});

function createPropertyLookups({ sql, domains, destinationRules }: LookupDeps) {
  const { shortUrl, ownHosts } = destinationRules;
  const isOwnHost = (host: string): boolean => host === shortUrl.host || ownHosts.has(host);
  return {
    /** Whether a host, in lower case, is one of the service's own short domain. */
    isOwnHost,

    /**
     * Throws `invalid_request`, naming `param`, for a host, in lower case, that no link of the
     * owner can have.
     */
    requireKnownDomains: (owner: AccountScope, hosts: readonly string[], param: string) =>
      requireKnownDomains({ domains, isOwnHost, ownHost: shortUrl.host }, owner, hosts, param),

    /**
     * Ids of the owner's links that have these tags and are on these hosts, in lower case. Throws
     * `invalid_request` beyond {@link SELECTED_LINKS_MAX}.
     */
    async findIds(
      owner: AccountScope,
      { tags, domains }: { tags?: readonly string[]; domains?: readonly string[] },
    ): Promise<Uuid[]> {
      const ids = await findLinkIds(
        sql,
        owner,
        {
          ...(tags === undefined ? {} : { tags: tags.filter(isStorable) }),
          ...(domains === undefined
            ? {}
            : { domains: domains.map((host) => (isOwnHost(host) ? null : host)) }),
        },
        SELECTED_LINKS_MAX,
      );
      if (ids.length <= SELECTED_LINKS_MAX) return ids;
      throw new ApiError(
        "invalid_request",
        `More than ${SELECTED_LINKS_MAX} links match the filters "tag" and "domain".`,
      );
    },

    /** Tags and domains of the owner's existing links among these ids. */
    async getProperties(
      owner: AccountScope,
      ids: readonly Uuid[],
    ): Promise<Map<Uuid, { tags: string[]; domain: string }>> {
      const rows = await findLinkProperties(sql, owner, ids);
      return new Map(
        rows.map(({ id, tags, host }) => [id, { tags, domain: host ?? shortUrl.host }]),
      );
    },

    /** Short URLs and titles of the owner's existing links among these ids. */
    async getNames(
      owner: AccountScope,
      ids: readonly Uuid[],
    ): Promise<Map<Uuid, { short_url: string; title: string | null }>> {
      const rows = await findLinkNames(sql, owner, ids);
      return new Map(
        rows.map((row) => [
          row.id,
          { short_url: buildShortUrl(row, shortUrl.origin), title: row.title },
        ]),
      );
    },
  };
}
