/**
 * Mails that tell the owners of an account that a webhook was disabled. Workers only write that it
 * was; the processes that send mails notice it.
 */
import type { MailKind } from "../mail/kind.ts";
import type { Sql } from "../postgres.ts";
import { composeDisabled, type Origins } from "./compose-mail.ts";
import { enqueueMails, findDisabled, isConcerned } from "./mails-sql.ts";

type WebhookMailDeps = { sql: Sql; settings: Origins };

export const createWebhookMails = ({ sql, settings }: WebhookMailDeps): MailKind => ({
  enqueue: () => enqueueMails(sql),
  mayReceive: isConcerned,
  async write({ subject_id }) {
    const webhook = await findDisabled(sql, subject_id);
    return webhook === undefined ? undefined : composeDisabled(webhook, settings);
  },
});
