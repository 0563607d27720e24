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
import { deleteAndSign, extendChains, type Retention } from "./events/chain.ts";
import { forgetReaders } from "./events/sql.ts";
import { deleteExpiredRequests } from "./idempotency/idempotency.ts";
import { deleteExpiredLimits } from "./limits/quotas.ts";
import { recordEndedLinks } from "./links/ended-links.ts";
import type { UsedClicks } from "./links/used-clicks.ts";
import type { Sql } from "./postgres.ts";
import { deleteOldRuns } from "./reports/maker.ts";
import { deleteExpiredAttempts } from "./sessions/attempts.ts";
import { deleteExpiredResets } from "./sessions/resets.ts";
import { deleteExpiredSessions } from "./sessions/sql.ts";
import { deleteOldMails } from "./webhooks/mails.ts";
import { deleteOldDeliveries } from "./webhooks/service.ts";

/** Time between two records of ended links, and between two rounds of anything else. */
const ENDED_LINKS_MS = 5_000;
const INTERVAL_MS = 60_000;

/** Proofs that one round looks up in sequence: each takes a few seconds at most. */
const PROOFS_MAX = 20;

/** Rows that one statement deletes, and one round at most: far more than are added meanwhile. */
const BATCH = 5_000;
const DELETED_MAX = 500_000;

/** Days after which an account counts no longer as a reader of clicks. */
const READER_DAYS = 7;

export class Maintenance {
  readonly #log: Log;
  readonly #rounds: readonly Repetition[];

  constructor(context: ApiContext, domains: DomainService, usedClicks: UsedClicks) {
    const { config, sql, log, shortUrl } = context;
    const { EVENTS_RETENTION_DAYS: days, AUDIT_RETENTION_DAYS: auditDays } = config;
    const signer = new LogSigner(config);
    const recordEnds = () => recordEndedLinks(sql, usedClicks, shortUrl);
    this.#log = log;
    this.#rounds = [
      this.#start("ended_links_failed", recordEnds, 0, ENDED_LINKS_MS),
      this.#start("event_deletion_failed", () => deleteEvents(sql, signer, { days, auditDays }), 0),
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

async function deleteEvents(sql: Sql, signer: LogSigner, retention: Retention): Promise<void> {
  await forgetReaders(sql, READER_DAYS);
  await deleteInBatches((max) => deleteAndSign(sql, signer, retention, max));
}

/**
 * Deletes closed windows, stream leases, idempotent requests, sign-in attempts, sessions, links to
 * set a password, deliveries of webhooks and mails about them, and runs of reports.
 */
async function deleteExpiredRows(sql: Sql): Promise<void> {
  await deleteExpiredLimits(sql);
  await deleteExpiredRequests(sql);
  await deleteExpiredAttempts(sql);
  await deleteExpiredSessions(sql);
  await deleteExpiredResets(sql);
  await deleteInBatches((max) => deleteOldDeliveries(sql, max));
  await deleteInBatches((max) => deleteOldMails(sql, max));
  await deleteInBatches((max) => deleteOldRuns(sql, max));
}

/** `deleteSome` deletes at most `max` rows, and returns how many. */
async function deleteInBatches(deleteSome: (max: number) => Promise<number>): Promise<void> {
  for (let deleted = 0; deleted < DELETED_MAX; deleted += BATCH)
    if ((await deleteSome(BATCH)) < BATCH) return;
}
