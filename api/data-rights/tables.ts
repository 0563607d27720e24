/**
 * Which rows of PostgreSQL belong to an account: those that an export has, an erasure deletes, and
 * its proof counts. A test compares the list with the tables that there are.
 */
import type { IdKind } from "../../shared/ids.ts";

/** The account, and its own users: those who are members of no other account. */
export type Owner = { account: string; users: readonly string[] };

export type OwnedTable = {
  table: string;
  /** Selects the rows by `$1`, the account, and `$2`, its own users. */
  where: string;
  /** Whether an export has the rows: not what only counts or waits, nor secrets of users. */
  isExported: boolean;
  /** The kind of the public ids of its rows. */
  kind?: IdKind;
};

const OF_ACCOUNT = "account_id = $1";
const OF_USERS = "user_id = any ($2)";
const of = (table: string, column: string) =>
  `${column} in (select id from ${table} where account_id = $1)`;

const exported = (table: string, where = OF_ACCOUNT, kind?: IdKind): OwnedTable => ({
  table,
  where,
  isExported: true,
  ...(kind === undefined ? {} : { kind }),
});

const internal = (table: string, where = OF_ACCOUNT): OwnedTable => ({
  table,
  where,
  isExported: false,
});

/**
 * In the order in which they are deleted: those who could add something first, and what refers to
 * others before these.
 */
export const OWNED_TABLES: readonly OwnedTable[] = [
  exported("api_keys", OF_ACCOUNT, "key"),
  exported("invitations", OF_ACCOUNT, "inv"),
  internal("password_resets", OF_USERS),
  internal("passkeys", OF_USERS),
  internal("second_factors", OF_USERS),
  internal("credentials", OF_USERS),
  internal("sessions", OF_USERS),
  internal(
    "verifications",
    "exists (select from unnest($2) id where position(id::text in value) > 0)",
  ),
  internal("users", "id = any ($2)"),
  exported("members"),
  exported("webhook_deliveries", of("webhooks", "webhook_id"), "dlv"),
  exported("webhooks", OF_ACCOUNT, "wh"),
  internal("report_mails", `${OF_USERS} or ${of("reports", "report_id")}`),
  exported("report_recipients"),
  exported("report_runs", of("reports", "report_id")),
  exported("reports", OF_ACCOUNT, "rpt"),
  exported("import_links", of("imports", "import_id")),
  exported("imports", OF_ACCOUNT, "imp"),
  internal("link_reviews", of("links", "link_id")),
  internal("limit_checks", of("links", "link_id")),
  exported("link_counters"),
  exported("shares", OF_ACCOUNT, "shr"),
  exported("tags"),
  exported("links", OF_ACCOUNT, "link"),
  internal("link_totals"),
  exported("domains", OF_ACCOUNT, "dom"),
  exported("takedowns", "kind = 'account' and subject = $1::text"),
  exported("account_branding"),
  exported("saved_views"),
  internal("idempotency_keys"),
  internal("plan_windows"),
  internal("endpoint_windows"),
  internal("quota_windows"),
  internal("stream_leases"),
  internal("event_readers"),
  internal("click_event_days"),
  exported("events", OF_ACCOUNT, "event"),
  exported("accounts", "id = $1", "acct"),
];

/** The tables that have the rest of an account until its proof is written. */
export const LAST_TABLES: ReadonlySet<string> = new Set(["events", "accounts"]);

/**
 * Tables without rows of an account, and why: what is signed of its chain of hashes stays, and
 * states of links are no rows of an account; `erasure.ts` deletes them by their age.
 */
export const OTHER_TABLES: ReadonlySet<string> = new Set([
  "schema_migrations",
  "plans",
  "endpoint_limits",
  "suspension_rule",
  "quotas",
  "plan_quotas",
  "backups",
  "event_progress",
  "host_list_sweep",
  "unknown_sign_ins",
  "sign_in_windows",
  "event_floors",
  "event_cuts",
  "event_heads",
  "link_outbox",
  "link_log",
  "link_log_head",
]);

/** Columns that no export has: secrets, and what they are found by. */
export const SECRET_COLUMNS = [
  "secret_hash",
  "lookup",
  "token_hash",
  "password_hash",
  "salt",
  "old_salt",
  "leased_by",
];

/** The kinds of the ids that rows refer to each other by. */
export const ID_COLUMNS: Readonly<Record<string, IdKind>> = {
  account_id: "acct",
  link_id: "link",
  link_ids: "link",
  subject_id: "link",
  user_id: "user",
  domain_id: "dom",
  webhook_id: "wh",
  report_id: "rpt",
  import_id: "imp",
  event_id: "event",
  replaced_by: "key",
};
