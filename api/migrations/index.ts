/**
 * The schema of PostgreSQL as a list of migrations. Migrations are only added: an applied one never
 * changes.
 */
import type { Migration } from "../../shared/migrations.ts";
import accounts from "./0001_accounts.sql" with { type: "text" };
import quotas from "./0002_quotas.sql" with { type: "text" };
import links from "./0003_links.sql" with { type: "text" };
import linksLog from "./0004_links_log.sql" with { type: "text" };
import dashboard from "./0005_dashboard.sql" with { type: "text" };
import events from "./0006_events.sql" with { type: "text" };
import reports from "./0007_reports.sql" with { type: "text" };
import imports from "./0008_imports.sql" with { type: "text" };
import reviews from "./0009_reviews.sql" with { type: "text" };

/**
 * A migration whose statements run one by one, because PostgreSQL rejects them in a transaction.
 */
export type PostgresMigration = Migration & { concurrent?: true };

export const migrations: readonly PostgresMigration[] = [
  { id: 1, name: "accounts", text: accounts },
  { id: 2, name: "quotas", text: quotas },
  { id: 3, name: "links", text: links },
  { id: 4, name: "links_log", text: linksLog },
  { id: 5, name: "dashboard", text: dashboard },
  { id: 6, name: "events", text: events },
  { id: 7, name: "reports", text: reports },
  { id: 8, name: "imports", text: imports },
  { id: 9, name: "reviews", text: reviews },
];
