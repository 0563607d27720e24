/** Starts the queue of mails with everything that is mailed. */
import type { Lifecycle } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import { startMailQueue } from "./mail/queue.ts";
import type { MailResult } from "./mail/send.ts";
import { readMailSettings } from "./mail/settings.ts";
import type { Sql } from "./postgres.ts";
import { createReportMails } from "./reports/mails.ts";
import { createUnsubscribeTokens, type UnsubscribeTokens } from "./reports/unsubscribe/token.ts";
import { resetMails } from "./sessions/reset-mail.ts";
import { createWebhookMails } from "./webhooks/mails.ts";

type MailsDeps = {
  config: Parameters<typeof readMailSettings>[0];
  sql: Sql;
  lifecycle: Pick<Lifecycle, "onStop">;
  log: Log;
  /** Called with what came of each mail. */
  observeMail: (outcome: MailResult["outcome"]) => void;
};

/**
 * Sends mails in the background, if a server is configured. Returns the tokens with which their
 * recipients unsubscribe from reports; undefined if no mails are sent.
 */
export function startMails(deps: MailsDeps): UnsubscribeTokens | undefined {
  const { config, sql, lifecycle, log, observeMail: onOutcome } = deps;
  const settings = readMailSettings(config);
  if (settings === undefined) return undefined;
  const tokens = createUnsubscribeTokens(settings.ownSecret);
  const kinds = {
    report: createReportMails({ sql, settings, tokens }),
    webhook: createWebhookMails({ sql, settings }),
    password_reset: resetMails(sql, settings.dashboardUrl),
  };
  lifecycle.onStop("mails", startMailQueue({ sql, settings, kinds, log, onOutcome }));
  return tokens;
}
