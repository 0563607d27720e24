/**
 * Takes the redirectors' reports of failed requests from NATS, stores them in ClickHouse, and
 * acknowledges those that are stored.
 */
import type { ClickHouseClient } from "@clickhouse/client";
import type { Msg } from "nats";

import {
  type FailureReport,
  failureReport,
  FAILURES_QUEUE,
  FAILURES_REPLIES,
  FAILURES_SUBJECT,
  NO_OWNER,
  reportId,
} from "../shared/contracts/failures.ts";
import type { Log } from "../shared/log.ts";
import type { Replies } from "../shared/nats.ts";
import type { Context } from "./context.ts";

/** Reports that are stored at a time; others are ignored, and sent again within seconds. */
const IN_FLIGHT_MAX = 8;

export class FailureReports {
  readonly #clickhouse: ClickHouseClient;
  readonly #replies: Replies;
  readonly #log: Log;
  #inFlight = 0;
  /** Reports by outcome: `rejected` ones are invalid, `failed` ones are sent again. */
  readonly outcomes = { stored: 0, rejected: 0, failed: 0 };

  /** Stores reports until the connection to NATS is closed. */
  constructor({ nats, clickhouse, log }: Context, replies: Replies) {
    this.#clickhouse = clickhouse;
    this.#replies = replies;
    this.#log = log;
    const subscribe = async () =>
      (await nats.connection).subscribe(FAILURES_SUBJECT, {
        queue: FAILURES_QUEUE,
        callback: (error, message) => {
          if (error !== null) log.warn({ error }, "failure_reports_not_received");
          else if (this.#inFlight < IN_FLIGHT_MAX) void this.#take(message);
        },
      });
    subscribe().catch((error: unknown) => log.warn({ error }, "failure_reports_not_received"));
  }

  /** Inserts a report. It is idempotent, by the report's id. */
  protected async store({ id, bucket, links, domains, aliases }: FailureReport): Promise<void> {
    const unknown = domains.map((sum) => ({
      account_id: NO_OWNER,
      mode: "live",
      link_id: NO_OWNER,
      reason: "unknown_alias",
      ...sum,
    }));
    const insert = async (table: string, rows: readonly object[]) => {
      if (rows.length === 0) return;
      await this.#clickhouse.insert({
        table,
        values: rows.map((row) => ({ ...row, bucket })),
        format: "JSONEachRow",
        clickhouse_settings: {
          insert_deduplicate: 1,
          insert_deduplication_token: id,
          async_insert: 0,
          distributed_foreground_insert: 1,
        },
      });
    };
    await insert("failures", [...links, ...unknown]);
    await insert("unknown_aliases", aliases);
  }

  async #take(message: Msg): Promise<void> {
    const acknowledge = this.#replies.to(message, FAILURES_REPLIES);
    if (acknowledge === undefined) return;
    const content = readJson(message);
    const { data: report, error } = failureReport.safeParse(content);
    if (report === undefined) {
      this.outcomes.rejected++;
      this.#log.warn({ error }, "failure_report_rejected");
      // Unacknowledged, it would be sent again for ever, before all others.
      const { data } = reportId.safeParse(content);
      if (data !== undefined) acknowledge(data.id);
      return;
    }
    this.#inFlight++;
    try {
      await this.store(report);
      this.outcomes.stored++;
      acknowledge(report.id);
    } catch (error) {
      this.outcomes.failed++;
      this.#log.warn({ error }, "failure_report_not_stored");
    } finally {
      this.#inFlight--;
    }
  }
}

function readJson(message: Msg): unknown {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}
