/**
 * Which rows of PostgreSQL belong to an account: an export contains them, an erasure deletes them,
 * and its proof counts them. A test compares the list with the tables that there are.
 */
import type { PendingQuery, Row } from "postgres";

import type { IdKind } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** The account, and its own users: those who are members of no other account. */
export type Owner = { account: string; users: readonly string[] };

/** The condition of an owner's rows. */
type Where = (sql: Sql | Transaction, owner: Owner) => PendingQuery<Row[]>;

export type OwnedTable = {
  table: string;
  where: Where;
  /** Whether an export contains the rows: not windows, queues, and secrets of users. */
  isExported: boolean;
  /** The kind of the public ids of its rows. */
  kind?: IdKind;
};

const ofAccount: Where = (sql, { account }) => sql`account_id = ${account}`;
const ofUsers: Where = (sql, { users }) => sql`user_id = any (${[...users]}::uuid[])`;

/** Rows that refer to those of another table of the account. */
const of =
  (table: string, column: string): Where =>
  (sql, { account }) =>
    sql`${sql(column)} in (select id from ${sql(table)} where account_id = ${account})`;

const exported = (table: string, where = ofAccount, kind?: IdKind): OwnedTable => ({
  table,
  where,
  isExported: true,
  ...(kind === undefined ? {} : { kind }),
});

const internal = (table: string, where = ofAccount): OwnedTable => ({
  table,
  where,
  isExported: false,
});

/**
 * In the order of deletion: keys and users first, who could add something meanwhile, and each table
 * before those that it refers to.
 */
export const OWNED_TABLES: readonly OwnedTable[] = [
  exported("api_keys", ofAccount, "key"),
  exported("invitations", ofAccount, "inv"),
  internal("password_resets", ofUsers),
  internal("passkeys", ofUsers),
  internal("second_factors", ofUsers),
  internal("credentials", ofUsers),
  internal("sessions", ofUsers),
  internal(
    "verifications",
    (sql, { users }) =>
      sql`exists (select from unnest(${[...users]}::uuid[]) own (id) where position(own.id::text in value) > 0)`,
  ),
  internal("users", (sql, { users }) => sql`id = any (${[...users]}::uuid[])`),
  exported("members"),
  exported("webhook_deliveries", of("webhooks", "webhook_id"), "dlv"),
  exported("webhooks", ofAccount, "wh"),
  internal(
    "report_mails",
    (sql, owner) => sql`${ofUsers(sql, owner)} or ${of("reports", "report_id")(sql, owner)}`,
  ),
  exported("report_recipients"),
  exported("report_runs", of("reports", "report_id")),
  exported("reports", ofAccount, "rpt"),
  exported("import_links", of("imports", "import_id")),
  exported("imports", ofAccount, "imp"),
  internal("link_reviews", of("links", "link_id")),
  internal("limit_checks", of("links", "link_id")),
  exported("link_counters"),
  exported("shares", ofAccount, "shr"),
  exported("tags"),
  exported("links", ofAccount, "link"),
  internal("link_totals"),
  exported("domains", ofAccount, "dom"),
  exported("takedowns", (sql, { account }) => sql`kind = 'account' and subject = ${account}`),
  exported("account_branding"),
  exported("saved_views"),
  internal("idempotency_keys"),
  internal("plan_windows"),
  internal("endpoint_windows"),
  internal("quota_windows"),
  internal("stream_leases"),
  internal("event_readers"),
  internal("click_event_days"),
  exported("events", ofAccount, "event"),
  exported("accounts", (sql, { account }) => sql`id = ${account}`, "acct"),
];

/** Tables whose rows an erasure needs until it has written its proof. */
export const LAST_TABLES: ReadonlySet<string> = new Set(["events", "accounts"]);

/**
 * Tables without rows of an account, and why: what is signed of its chain of hashes stays, and
 * states of links are no rows of an account; `erasure.ts` deletes them by their age.
 */
export const OTHER_TABLES: ReadonlySet<string> = new Set([
  "schema_migrations",
  "plans",
  "endpoint_limits",
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

/** Columns with the id of another row, and the kind of that id. */
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
