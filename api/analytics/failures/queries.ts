/** Reads sums of failed requests from ClickHouse. */
import { type ClickHouse, queryRows } from "../../../shared/clicks/rollups.ts";
import { LINK_FAILURES } from "../../../shared/contracts/failure-reasons.ts";
import { NO_OWNER } from "../../../shared/contracts/failures.ts";
import type { Uuid } from "../../../shared/ids.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { Range } from "../period.ts";
import { BUCKET_RANGE, clampInstant } from "../sources.ts";

/**
 * The failures to count: those of the owner's links, and of unknown aliases on the owner's domains.
 */
export type FailureScope = {
  owner: AccountScope;
  linkId: Uuid | undefined;
  /** Empty for the service's own domain, undefined for all. */
  domain: string | undefined;
  /** The owner's domains, and the start of ownership in Unix milliseconds. */
  hosts: readonly { host: string; since: number }[];
};

export type FailureRow = { start: number; reason: string; counted: string };

const ofLinks = ({ linkId, domain }: FailureScope): string =>
  `account_id = {account_id: UUID} AND mode = {mode: String}
   ${linkId === undefined ? "" : "AND link_id = {link_id: UUID}"}
   ${domain === undefined ? "" : "AND domain = {domain: String}"}`;

/**
 * A domain may have belonged to another account. The quarter hour of the transfer counts for
 * neither account.
 */
const OF_HOSTS = `domain IN {hosts: Array(String)}
   AND toUnixTimestamp(bucket) >= {since: Array(UInt32)}[indexOf({hosts: Array(String)}, domain)]`;

const paramsOf = (
  { owner, linkId, domain, hosts }: FailureScope,
  { from, to }: Pick<Range, "from" | "to">,
) => ({
  account_id: owner.accountId,
  mode: owner.mode,
  ...(linkId === undefined ? {} : { link_id: linkId }),
  ...(domain === undefined ? {} : { domain }),
  hosts: hosts.map(({ host }) => host),
  since: hosts.map(({ since }) => Math.ceil(since / 1_000)),
  from: clampInstant(from),
  to: clampInstant(to),
});

/** Counts failures by the start of the range's buckets (Unix seconds) and by reason. */
export const countFailures = (
  clickhouse: ClickHouse,
  scope: FailureScope,
  range: Pick<Range, "from" | "to" | "buckets">,
): Promise<FailureRow[]> =>
  queryRows<FailureRow>(
    clickhouse,
    `SELECT toUInt32(roundDown(toUnixTimestamp(bucket), {starts: Array(Int64)})) AS start, reason,
            sum(requests) AS counted
       FROM failures
      WHERE (${ofLinks(scope)} OR account_id = toUUID('${NO_OWNER}') AND ${OF_HOSTS})
        AND ${BUCKET_RANGE}
      GROUP BY start, reason`,
    {
      ...paramsOf(scope, range),
      starts: range.buckets.map(({ start }) => Math.floor(start / 1_000)),
    },
  );

type LinkRow = { link_id: Uuid } & Record<"total" | (typeof LINK_FAILURES)[number], string>;

/** The links with the most failures, including deleted ones; ties sort by id. */
export const findFailingLinks = (
  clickhouse: ClickHouse,
  scope: FailureScope,
  range: Pick<Range, "from" | "to">,
  limit: number,
): Promise<LinkRow[]> =>
  queryRows<LinkRow>(
    clickhouse,
    `SELECT link_id, sum(requests) AS total,
            ${LINK_FAILURES.map((reason) => `sumIf(requests, reason = '${reason}') AS ${reason}`).join(", ")}
       FROM failures
      WHERE ${ofLinks(scope)} AND ${BUCKET_RANGE}
      GROUP BY link_id
      ORDER BY total DESC, link_id
      LIMIT {limit: UInt32}`,
    { ...paramsOf(scope, range), limit },
  );

type AliasRow = { domain: string; alias: string; counted: string };

/** The unknown aliases with the most requests; ties sort by name. */
export const findUnknownAliases = (
  clickhouse: ClickHouse,
  scope: FailureScope,
  range: Pick<Range, "from" | "to">,
  limit: number,
): Promise<AliasRow[]> =>
  queryRows<AliasRow>(
    clickhouse,
    `SELECT domain, alias, sum(requests) AS counted
       FROM unknown_aliases
      WHERE ${OF_HOSTS} AND ${BUCKET_RANGE}
      GROUP BY domain, alias
      ORDER BY counted DESC, domain, alias
      LIMIT {limit: UInt32}`,
    { ...paramsOf(scope, range), limit },
  );
