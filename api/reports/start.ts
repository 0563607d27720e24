/** Starts what makes reports and mails them, and creates their operations. */
import type { Lifecycle } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { createRequestedReports } from "../limits/requested-reports.ts";
import type { LinkService } from "../links/service.ts";
import type { Sql } from "../postgres.ts";
import type { ContentDeps } from "./content.ts";
import { startMakingReports } from "./due.ts";
import { startMailQueue } from "./mail/queue.ts";
import type { MailResult } from "./mail/send.ts";
import { readMailSettings } from "./mail/settings.ts";
import { createReportService } from "./service.ts";
import { createUnsubscribeTokens } from "./unsubscribe/token.ts";
import { createUnsubscriber } from "./unsubscribe/unsubscriber.ts";

type ReportsDeps = Omit<ContentDeps, "links"> & {
  config: Parameters<typeof readMailSettings>[0];
  sql: Sql;
  links: Pick<LinkService, "get" | "getNames">;
  lifecycle: Lifecycle;
  log: Log;
  /** Called with what came of each mail. */
  observeMail: (outcome: MailResult["outcome"]) => void;
};

export function startReports({ config, lifecycle, log, observeMail, ...deps }: ReportsDeps) {
  const { sql } = deps;
  const settings = readMailSettings(config);
  const making = { ...deps, sendsMails: settings !== undefined };
  lifecycle.onStop("reports", startMakingReports({ ...making, log }));
  const tokens = settings && createUnsubscribeTokens(settings.ownSecret);
  if (settings !== undefined && tokens !== undefined) {
    const stop = startMailQueue({ sql, settings, tokens, log, onOutcome: observeMail });
    lifecycle.onStop("mails", stop);
  }
  return {
    reports: createReportService({ ...making, requestedReports: createRequestedReports() }),
    unsubscriber: createUnsubscriber({ sql, tokens }),
  };
}
