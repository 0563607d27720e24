/** Compares the links of each redirector host with those of PostgreSQL, for `shorthop doctor`. */
import type { NatsConnection } from "nats";

import { type ProcessStatus, requestStatuses } from "../../shared/status.ts";
import type { Sql } from "../postgres.ts";
import { countServedLinks, type ServedLinks } from "./sql.ts";

/** Names the hosts that have too few links, or too many; undefined if there are none. */
export function describeHostCounts(
  statuses: readonly ProcessStatus[],
  { least, most }: ServedLinks,
): string | undefined {
  const wrong = new Map(
    statuses.flatMap(({ host, figures: { links } }) =>
      links !== undefined && (links < least || links > most) ? [[host, links] as const] : [],
    ),
  );
  if (wrong.size === 0) return undefined;
  const named = [...wrong].map(([host, links]) => `${host} has ${links}`);
  return `PostgreSQL has ${least} links that redirect: ${named.join(", ")}`;
}

/** How long processes may take to say what they have. */
const STATUS_WAIT_MS = 1_000;

/** Between two comparisons: changes of links may be on their way. */
const COMPARE_AGAIN_MS = 1_000;
const COMPARISONS = 3;

/** As {@link describeHostCounts}, of what is wrong in each of several comparisons. */
export async function compareHostCounts(
  sql: Sql,
  nats: NatsConnection,
): Promise<string | undefined> {
  for (let i = 1; ; i++) {
    const before = await countServedLinks(sql);
    const statuses = await requestStatuses(nats, STATUS_WAIT_MS);
    const after = await countServedLinks(sql);
    const problem = describeHostCounts(statuses, {
      least: Math.min(before.least, after.least),
      most: Math.max(before.most, after.most),
    });
    if (problem === undefined || i === COMPARISONS) return problem;
    await Bun.sleep(COMPARE_AGAIN_MS);
  }
}
