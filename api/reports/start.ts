/** Starts what makes reports, and creates their operations. */
import type { Lifecycle } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { LinkService } from "../links/service.ts";
import type { Sql } from "../postgres.ts";
import type { ContentDeps } from "./content.ts";
import { startMakingReports } from "./due.ts";
import { createReportService } from "./service.ts";
import type { UnsubscribeTokens } from "./unsubscribe/token.ts";
import { createUnsubscriber } from "./unsubscribe/unsubscriber.ts";

type ReportsDeps = Omit<ContentDeps, "links"> & {
  sql: Sql;
  links: Pick<LinkService, "get" | "lookUp" | "getNames">;
  /** Those of the addresses in mails; undefined where no mails are sent. */
  tokens: UnsubscribeTokens | undefined;
  lifecycle: Lifecycle;
  log: Log;
};

export function startReports({ lifecycle, log, tokens, ...deps }: ReportsDeps) {
  const making = { ...deps, sendsMails: tokens !== undefined };
  lifecycle.onStop("reports", startMakingReports({ ...making, log }));
  return {
    reports: createReportService(making),
    unsubscriber: createUnsubscriber({ sql: deps.sql, tokens }),
  };
}
