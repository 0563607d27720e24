/** A queue of mails of every kind, for tests of the kinds and of the queue. */
import { KeyMails } from "../../api/keys/reports.ts";
import { type MailKinds, MailQueue } from "../../api/mail/queue.ts";
import { parseMailServer } from "../../api/mail/settings.ts";
import type { Sql } from "../../api/postgres.ts";
import { ReportMails, UnsubscribeTokens } from "../../api/reports/mails.ts";
import { ResetMails } from "../../api/sessions/resets.ts";
import { WebhookMails } from "../../api/webhooks/mails.ts";
import { processLog } from "../../shared/log.ts";

export const MAIL_FROM = "mails@shorthop.example";

const ORIGINS = { apiUrl: "https://api.example.com", dashboardUrl: "https://app.example.com" };

export const unsubscribeTokens = new UnsubscribeTokens(
  "the secret of this test, with many characters",
);

export const mailKinds = (sql: Sql): MailKinds => ({
  report: new ReportMails(sql, ORIGINS.apiUrl, unsubscribeTokens),
  webhook: new WebhookMails(sql, ORIGINS),
  key: new KeyMails(sql, ORIGINS.dashboardUrl),
  password_reset: new ResetMails(sql, ORIGINS.dashboardUrl),
});

/**
 * The queue of a process that sends the mails of a database by the server at `url`, in the form of
 * `SMTP_URL`. Adds what came of each to `outcomes`.
 */
export function mailQueue(
  sql: Sql,
  url: string,
  outcomes: string[],
  kinds = mailKinds(sql),
): MailQueue {
  const server = parseMailServer(url);
  if (server === undefined) throw new Error("The URL is wrong.");
  const log = processLog("test", "silent");
  return new MailQueue(sql, { server, from: MAIL_FROM }, kinds, log, (outcome) =>
    outcomes.push(outcome),
  );
}
