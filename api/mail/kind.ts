/** What the queue needs to know of the mails that it sends. */
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { MailContent } from "./message.ts";

/** A mail in the queue: what it is about, and to whom. */
export type QueuedMail = {
  /** The run of a report; null for another mail. */
  run_id: Uuid | null;
  /** That of a mail which its user has asked for; null for another mail. */
  language: string | null;
  user_id: Uuid;
  created_at: Date;
};

export type MailKind = {
  /** Puts mails that nobody has requested into the queue, at each look. */
  enqueue?: () => Promise<void>;
  /** A condition: whether its user may have the row `mail` of the queue, now. */
  mayReceive: (sql: Sql) => PendingQuery<Row[]>;
  /** What a mail says; undefined when its subject is gone. */
  write: (mail: QueuedMail) => Promise<MailContent | undefined>;
};

export type MailKinds = { report: MailKind; webhook: MailKind; password_reset: MailKind };
