/** A queue of mails of every kind, for tests of the kinds and of the queue. */
import type { MailQueueDeps } from "../../api/mail/queue.ts";
import { parseMailServer } from "../../api/mail/settings.ts";
import type { Sql } from "../../api/postgres.ts";
import { createReportMails } from "../../api/reports/mails.ts";
import { createUnsubscribeTokens } from "../../api/reports/unsubscribe/token.ts";
import { resetMails } from "../../api/sessions/resets.ts";
import { createWebhookMails } from "../../api/webhooks/mails.ts";
import { processLog } from "../../shared/log.ts";

export const MAIL_FROM = "mails@shorthop.example";

export const unsubscribeTokens = createUnsubscribeTokens(
  "the secret of this test, with many characters",
);

/**
 * What sends the mails of a database by the server at `url`, in the form of `SMTP_URL`. Adds what
 * came of each to `outcomes`.
 */
export function mailQueueDeps(sql: Sql, url: string, outcomes: string[]): MailQueueDeps {
  const server = parseMailServer(url);
  if (server === undefined) throw new Error("The URL is wrong.");
  const settings = { apiUrl: "https://api.example.com", dashboardUrl: "https://app.example.com" };
  return {
    sql,
    settings: { server, from: MAIL_FROM },
    kinds: {
      report: createReportMails({ sql, settings, tokens: unsubscribeTokens }),
      webhook: createWebhookMails({ sql, settings }),
      password_reset: resetMails(sql, settings.dashboardUrl),
    },
    log: processLog("test", "silent"),
    onOutcome: (outcome) => outcomes.push(outcome),
  };
}
