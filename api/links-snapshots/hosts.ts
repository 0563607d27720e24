/** What operators do with the links of all hosts: compare and replace them. */
import type { JetStreamManager, NatsConnection } from "nats";

import type { Uuid } from "../../shared/ids.ts";
import type { LogVerifier } from "../../shared/links-log/signature.ts";
import { listSnapshots } from "../../shared/links-log/snapshots.ts";
import { type ProcessStatus, requestStatuses } from "../../shared/status.ts";
import { cutLog } from "../links-log/log.ts";
import type { Sql } from "../postgres.ts";

/** Bounds of the number of links that every host has. */
type ServedLinks = { least: number; most: number };

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

/**
 * Counts the links that redirect; those of a domain that changes hands are on their way. Takes
 * milliseconds, because totals are kept per account, and few domains are unverified or newly
 * verified.
 */
async function countServedLinks(sql: Sql): Promise<ServedLinks> {
  const [row] = await sql<[ServedLinks]>`
    select (total - waiting - moving)::float8 as least, (total - waiting)::float8 as most
      from (select coalesce(sum(links), 0) as total from link_totals) totals,
           (select count(*) filter (where not domain.republishing) as waiting,
                   count(*) filter (where domain.republishing) as moving
              from links link join domains domain on domain.id = link.domain_id
             where domain.verified_at is null or domain.republishing) others`;
  return row;
}

const POLL_MS = 200;

/** How long a snapshot of all links may take. */
const SNAPSHOT_MS_MAX = 600_000;

/**
 * Ends the history that hosts have, and waits until there is a snapshot of the new one, which an
 * API process makes; returns the number of its links. Until they have it, hosts redirect with the
 * links that they have. With the identity of another database, hosts that have that one's links
 * take these. Throws when there is none for a long time; one follows as soon as an API process and
 * NATS run.
 */
export async function resyncHosts(
  sql: Sql,
  manager: JetStreamManager,
  verifier: LogVerifier,
  other?: Uuid,
): Promise<number> {
  const { database, term, isEmpty } = await cutLog(sql, other);
  if (isEmpty) throw new Error("PostgreSQL has no account, and so no links.");
  const deadline = performance.now() + SNAPSHOT_MS_MAX;
  for (;;) {
    const made = (await listSnapshots(manager, verifier)).find(
      ({ manifest }) => manifest.database === database && manifest.start.term >= term,
    );
    if (made !== undefined) return made.manifest.links;
    if (performance.now() > deadline)
      throw new Error(
        "No API process makes a snapshot. One does so as soon as it runs and reaches NATS.",
      );
    await Bun.sleep(POLL_MS);
  }
}
