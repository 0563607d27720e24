/** The migrations of ClickHouse's schema. They are only added: an applied one never changes. */
import type { Migration } from "../../shared/migrations.ts";
import clicks from "./0001_clicks.sql" with { type: "text" };
import longerRollups from "./0002_longer_rollups.sql" with { type: "text" };
import accountRollups from "./0003_account_rollups.sql" with { type: "text" };
import insertSums from "./0004_insert_sums.sql" with { type: "text" };
import batches from "./0005_batches.sql" with { type: "text" };

export const migrations: readonly Migration[] = [
  { id: 1, name: "clicks", text: clicks },
  { id: 2, name: "longer_rollups", text: longerRollups },
  { id: 3, name: "account_rollups", text: accountRollups },
  { id: 4, name: "insert_sums", text: insertSums },
  { id: 5, name: "batches", text: batches },
];
