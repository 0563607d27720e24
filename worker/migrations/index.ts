/** The migrations of ClickHouse's schema. They are only added: an applied one never changes. */
import type { Migration } from "../../shared/migrations.ts";
import clicks from "./0001_clicks.sql" with { type: "text" };
import longerRollups from "./0002_longer_rollups.sql" with { type: "text" };
import accountRollups from "./0003_account_rollups.sql" with { type: "text" };
import insertSums from "./0004_insert_sums.sql" with { type: "text" };
import batches from "./0005_batches.sql" with { type: "text" };
import dailyBreakdowns from "./0006_daily_breakdowns.sql" with { type: "text" };
import dropDailyDimensions from "./0007_drop_daily_dimensions.sql" with { type: "text" };
import targets from "./0008_targets.sql" with { type: "text" };
import linkUtm from "./0009_link_utm.sql" with { type: "text" };
import positions from "./0011_positions.sql" with { type: "text" };
import failures from "./0013_failures.sql" with { type: "text" };
import dailyVisitors from "./0014_daily_visitors.sql" with { type: "text" };
import wholeClicks from "./0015_whole_clicks.sql" with { type: "text" };
import batchesRetention from "./0016_batches_retention.sql" with { type: "text" };

export const migrations: readonly Migration[] = [
  { id: 1, name: "clicks", text: clicks },
  { id: 2, name: "longer_rollups", text: longerRollups },
  { id: 3, name: "account_rollups", text: accountRollups },
  { id: 4, name: "insert_sums", text: insertSums },
  { id: 5, name: "batches", text: batches },
  { id: 6, name: "daily_breakdowns", text: dailyBreakdowns },
  { id: 7, name: "drop_daily_dimensions", text: dropDailyDimensions },
  { id: 8, name: "targets", text: targets },
  { id: 9, name: "link_utm", text: linkUtm },
  { id: 11, name: "positions", text: positions },
  { id: 13, name: "failures", text: failures },
  { id: 14, name: "daily_visitors", text: dailyVisitors },
  { id: 15, name: "whole_clicks", text: wholeClicks },
  { id: 16, name: "batches_retention", text: batchesRetention },
];
