/**
 * The job that republishes the links of whole domains: of domains that change hands (`whole.ts`),
 * and of domains that switch between case-sensitive and case-insensitive aliases. During a switch
 * redirectors look up both aliases.
 */
import type { LinkRecord } from "../../../shared/contracts/link-record.ts";
import type { Uuid } from "../../../shared/ids.ts";
import type { Log } from "../../../shared/log.ts";
import { repeat } from "../../../shared/repeat.ts";
import type { DomainService } from "../../domains/service.ts";
import { addToOutbox } from "../../links-log/outbox.ts";
import type { LinkRow } from "../model.ts";
import { recordAlias, recordDomain, toRecord } from "../record.ts";
import { BATCH, publishBatches, type PublishingDeps, renewVersions } from "./batches.ts";
import { findTakenAliases, lockLinks } from "./sql.ts";
import { republishLinks } from "./whole.ts";

/** How often each API process checks for domains that switch. */
const INTERVAL_MS = 1_000;

type RepublishingDeps = PublishingDeps & {
  domains: Pick<DomainService, "withSwitching" | "withRepublishing">;
  log: Log;
};

/**
 * Starts the job; returns a function that stops it. Only one process at a time switches a domain.
 */
export function startRepublishing({
  sql,
  publisher,
  domains,
  log,
}: RepublishingDeps): () => Promise<void> {
  let stopped = false;
  const rounds = repeat(async () => {
    try {
      await domains.withRepublishing((id, verified) =>
        republishLinks({ sql, publisher }, id, verified, () => stopped),
      );
      await domains.withSwitching((id) => switchLinks({ sql, publisher }, id, () => stopped));
    } catch (error) {
      log.warn({ error }, "republishing_failed");
    }
    return INTERVAL_MS;
  });
  return async () => {
    stopped = true;
    await rounds.stop();
  };
}

/** Publishes the links of a domain under their current aliases, and deletes their former ones. */
const switchLinks = (
  deps: PublishingDeps,
  domainId: Uuid,
  isStopped: () => boolean,
): Promise<boolean> =>
  publishBatches(deps, isStopped, async (transaction, after) => {
    const links = await lockLinks(transaction, domainId, {
      after,
      limit: BATCH,
      only: "with_case",
    });
    const rows = await renewVersions(transaction, links);
    const taken = await findTakenAliases(transaction, domainId, links.map(formerAlias));
    // On a domain that has become case-sensitive, another link may have the lower-case alias.
    const former = rows
      .filter((row) => row.folded || !taken.has(formerAlias(row)))
      .map((row): LinkRecord => ({
        state: "deleted",
        version: row.version,
        domain: recordDomain(row),
        alias: formerAlias(row),
        former: true,
      }));
    // Publishes the new aliases first, so that each link always has one.
    await addToOutbox(transaction, [...rows.map(toRecord), ...former]);
    return links;
  });

/** The alias under which the log had a link before its domain switched. */
const formerAlias = (row: LinkRow): string =>
  recordAlias({ alias: row.alias, folded: !row.folded });
