/**
 * Mails that tell the owners of accounts which webhooks were disabled. Workers only write that they
 * were; the processes that send mails notice it.
 */
import type { MailKind } from "../mail/kind.ts";
import type { Sql } from "../postgres.ts";
import { composeDisabled, type Origins } from "./compose-mail.ts";
import { enqueueMails, isConcerned, listDisabled } from "./mails-sql.ts";

type WebhookMailDeps = { sql: Sql; settings: Origins };

export const createWebhookMails = ({ sql, settings }: WebhookMailDeps): MailKind => ({
  enqueue: () => sql.begin(enqueueMails),
  mayReceive: isConcerned,
  async write(mail) {
    const webhooks = await listDisabled(sql, mail);
    return composeDisabled(webhooks, settings);
  },
});
