/** Mails with reports, which wait in the queue from when their report is made. */
import type { MailKind } from "../mail/kind.ts";
import type { MailSettings } from "../mail/settings.ts";
import type { Sql } from "../postgres.ts";
import { composeReport } from "./compose-mail.ts";
import { findRun, isRecipient } from "./mails-sql.ts";
import type { UnsubscribeTokens } from "./unsubscribe/token.ts";

export type ReportMailDeps = {
  sql: Sql;
  settings: Pick<MailSettings, "apiUrl">;
  tokens: UnsubscribeTokens;
};

export const createReportMails = ({ sql, settings, tokens }: ReportMailDeps): MailKind => ({
  mayReceive: isRecipient,
  async write({ run_id: runId, user_id: userId }) {
    const run = runId === null ? undefined : await findRun(sql, runId);
    if (run === undefined) return undefined;
    const token = tokens.write({ reportId: run.report_id, userId });
    return composeReport(run.content, `${settings.apiUrl}/unsubscribe/${token}`);
  },
});
