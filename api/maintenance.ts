/**
 * The rounds of every API process in the background: it records which links have ended, looks up
 * the proofs of domains, and deletes what has expired. Several processes may do so
 * concurrently.
 */
import { LogSigner } from "../shared/links-log/signature.ts";
import type { Log } from "../shared/log.ts";
import { repeat, type Repetition } from "../shared/repeat.ts";
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
  readonly #log: Log;
  readonly #rounds: readonly Repetition[];

  constructor(context: ApiContext, domains: DomainService, usedClicks: UsedClicks) {
    const { config, sql, log, shortUrl } = context;
    const { EVENTS_RETENTION_DAYS: days, AUDIT_RETENTION_DAYS: auditDays } = config;
    const signer = new LogSigner(config);
    const deleteEvents = () =>
      deleteInBatches((max) => deleteAndSign(sql, signer, { days, auditDays }, max));
    const recordEnds = () => recordEndedLinks(sql, usedClicks, shortUrl);
    this.#log = log;
    this.#rounds = [
      this.#start("ended_links_failed", recordEnds, 0, ENDED_LINKS_MS),
      this.#start("event_deletion_failed", deleteEvents, 0),
      this.#start("ledger_not_extended", () => extendChains(sql)),
      this.#start("proof_checks_failed", () => domains.checkProofs(PROOFS_MAX)),
      this.#start("expired_row_cleanup_failed", () => deleteExpiredRows(sql)),
    ];
  }

  stop(): void {
    for (const round of this.#rounds) void round.stop();
  }

  /** Works again and again, at first after `firstMs`; logs `failure` when a round has failed. */
  #start(
    failure: string,
    work: () => Promise<unknown>,
    firstMs = INTERVAL_MS,
    intervalMs = INTERVAL_MS,
  ): Repetition {
    return repeat(async () => {
      await work().catch((error: unknown) => this.#log.warn({ error }, failure));
      return intervalMs;
    }, firstMs);
  }
}
