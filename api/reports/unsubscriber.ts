/**
 * Unsubscribes recipients of reports, who need not sign in: tokens in their mails name the report
 * and the recipient, signed with a key that the database does not have.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

import { encodeId, ID_BYTES, readUuid, writeUuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import type { AccountScope, Origin } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import type { Recipient } from "./model.ts";

export class Unsubscriber {
  readonly #sql: Sql;
  readonly #tokens: UnsubscribeTokens | undefined;

  /** Without tokens, where no mails are sent, every token is invalid. */
  constructor(sql: Sql, tokens: UnsubscribeTokens | undefined) {
    this.#sql = sql;
    this.#tokens = tokens;
  }

  isValid(token: string): boolean {
    return this.#tokens?.read(token) !== undefined;
  }

  /** Unsubscribes whom a token names, as often as asked; returns false when it is invalid. */
  async unsubscribe(token: string, origin: Origin): Promise<boolean> {
    const recipient = this.#tokens?.read(token);
    if (recipient === undefined) return false;
    const { reportId, userId } = recipient;
    await this.#sql.begin(async (sql) => {
      const [report] = await sql<(AccountScope & { name: string })[]>`
        with gone as (
          delete from report_recipients where report_id = ${reportId} and user_id = ${userId}
          returning report_id
        )
        select account_id as "accountId", mode, name from gone join reports on reports.id = report_id`;
      if (report === undefined) return;
      const { name, ...owner } = report;
      const author = { ...owner, actor: { type: "user", id: userId, origin } } as const;
      const data = { report: { id: encodeId("rpt", reportId), name } };
      await recordEvents(sql, author, [{ type: "report.unsubscribed", objectId: reportId, data }]);
    });
    return true;
  }
}

const SUBJECT_BYTES = 2 * ID_BYTES;
const SIGNATURE_BYTES = 16;
const KEY_BYTES = 32;

/** Characters of every token: 48 bytes in Base64. */
const TOKEN = /^[\w-]{64}$/;

export class UnsubscribeTokens {
  readonly #key: Buffer;

  /** `ownSecret` is one that the installation keeps; another one makes all tokens invalid. */
  constructor(ownSecret: string) {
    const info = "shorthop unsubscribe";
    this.#key = Buffer.from(hkdfSync("sha256", ownSecret, "", info, KEY_BYTES));
  }

  write({ reportId, userId }: Recipient): string {
    const subject = Buffer.alloc(SUBJECT_BYTES);
    writeUuid(subject, 0, reportId);
    writeUuid(subject, ID_BYTES, userId);
    return Buffer.concat([subject, this.#sign(subject)]).toString("base64url");
  }

  /** Whom a token names; undefined unless it was written with the same secret. */
  read(token: string): Recipient | undefined {
    if (!TOKEN.test(token)) return undefined;
    const bytes = Buffer.from(token, "base64url");
    const subject = bytes.subarray(0, SUBJECT_BYTES);
    if (!timingSafeEqual(bytes.subarray(SUBJECT_BYTES), this.#sign(subject))) return undefined;
    return { reportId: readUuid(subject, 0), userId: readUuid(subject, ID_BYTES) };
  }

  #sign(subject: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(subject).digest().subarray(0, SIGNATURE_BYTES);
  }
}
