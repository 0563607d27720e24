/**
 * The rounds of every API process in the background: it records which links have ended, looks up
 * the proofs of domains, and deletes what has expired. Several processes may do so
 * concurrently.
 */
import { LogSigner } from "../shared/links-log/signature.ts";
import { repeatEvery, type Repetition } from "../shared/repeat.ts";
import type { ApiContext } from "./context.ts";
import type { DomainService } from "./domains/service.ts";
import { deleteAndSign, extendChains } from "./events/chain.ts";
import { deleteExpiredRows, deleteInBatches } from "./expired-rows.ts";
import { recordEndedLinks } from "./links/ended-links.ts";
import type { UsedClicks } from "./links/used-clicks.ts";

/** Time between two records of ended links, and between two rounds of anything else. */
const ENDED_LINKS_MS = 5_000;
const INTERVAL_MS = 60_000;

/** Proofs that one round looks up in sequence: each takes a few seconds at most. */
const PROOFS_MAX = 20;

export class Maintenance {
  readonly #rounds: readonly Repetition[];

  constructor(context: ApiContext, domains: DomainService, usedClicks: UsedClicks) {
    const { config, sql, log, shortUrl } = context;
    const { EVENTS_RETENTION_DAYS: days, AUDIT_RETENTION_DAYS: auditDays } = config;
    const signer = new LogSigner(config);
    const deleteEvents = () =>
      deleteInBatches((max) => deleteAndSign(sql, signer, { days, auditDays }, max));
    const recordEnds = () => recordEndedLinks(sql, usedClicks, shortUrl);
    const startLater = (failure: string, work: () => Promise<unknown>) =>
      repeatEvery(INTERVAL_MS, work, { log, failure, firstMs: INTERVAL_MS });
    this.#rounds = [
      repeatEvery(ENDED_LINKS_MS, recordEnds, { log, failure: "ended_links_failed" }),
      repeatEvery(INTERVAL_MS, deleteEvents, { log, failure: "event_deletion_failed" }),
      startLater("ledger_not_extended", () => extendChains(sql)),
      startLater("proof_checks_failed", () => domains.checkProofs(PROOFS_MAX)),
      startLater("expired_row_cleanup_failed", () => deleteExpiredRows(sql)),
    ];
  }

  stop(): void {
    for (const round of this.#rounds) void round.stop();
  }
}
