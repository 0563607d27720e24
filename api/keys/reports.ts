/**
 * Reports of keys that somebody found where others can read them. Such a key is revoked at once,
 * and the owners of its account get a mail.
 */
import { timingSafeEqual } from "node:crypto";

import type { PendingQuery, Row } from "postgres";

import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { parseKey } from "../auth/api-key.ts";
import { type Origin, SYSTEM } from "../http/principal.ts";
import {
  accountLanguage,
  confirmedMembers,
  type MailContent,
  type MailKind,
  type QueuedMail,
  writeParagraphs,
} from "../mail/queue.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { revokeLive } from "./service.ts";

export class KeyReports {
  readonly #sql: Sql;
  readonly #sendsMails: boolean;

  constructor(sql: Sql, sendsMails: boolean) {
    this.#sql = sql;
    this.#sendsMails = sendsMails;
  }

  /**
   * Revokes those of the keys that exist and still work. Only their owners learn which ones did.
   * `origin` is where the report came from.
   */
  async report(keys: readonly string[], origin: Origin): Promise<void> {
    const hashes = new Map(
      keys.flatMap((key) => {
        const parts = parseKey(key);
        return parts === undefined ? [] : [[parts.lookup, parts.secretHash] as const];
      }),
    );
    const found = await this.#sql<{ id: Uuid; lookup: string; secret_hash: Buffer }[]>`
      select id, lookup, secret_hash from api_keys
       where lookup = any (${[...hashes.keys()]}::text[]) and (expires_at is null or expires_at > now())`;
    for (const { id, lookup, secret_hash } of found) {
      const hash = hashes.get(lookup);
      if (hash === undefined || !timingSafeEqual(secret_hash, hash)) continue;
      await this.#sql.begin(async (sql) => {
        const actor = { ...SYSTEM, origin };
        const wasLive = await revokeLive(sql, id, actor, { reported: true });
        if (wasLive && this.#sendsMails) await enqueueMails(sql, id);
      });
    }
  }
}

/**
 * Maximum mails to a user per hour: somebody who creates keys could report them to send mails. The
 * ledger has all reports.
 */
export const MAILS_PER_HOUR = 10;

/** Adds a mail to the queue for each owner with a confirmed address. */
const enqueueMails = (sql: Transaction, keyId: Uuid): Promise<unknown> => sql`
  insert into report_mails (id, kind, key_id, user_id)
  select gen_random_uuid(), 'key', key.id, users.id
    from api_keys key
    join (${confirmedMembers(sql)}) on member.account_id = key.account_id and member.role = 'owner'
   where key.id = ${keyId}
     and ${MAILS_PER_HOUR} > (
       select count(*) from report_mails earlier
        where earlier.user_id = users.id and earlier.kind = 'key' and earlier.created_at > now() - interval '1 hour')`;

/** A reported key, as its mail describes it. */
type ReportedKey = {
  name: string;
  prefix: string;
  mode: Mode;
  account_id: Uuid;
  account: string;
  /** The language of the account's newest report; null if it has none. */
  language: string | null;
};

/** Mails to owners about a key that was reported and revoked. */
export class KeyMails implements MailKind {
  readonly #sql: Sql;
  readonly #dashboardUrl: string | undefined;

  /** Without `dashboardUrl`, mails have no link. */
  constructor(sql: Sql, dashboardUrl: string | undefined) {
    this.#sql = sql;
    this.#dashboardUrl = dashboardUrl;
  }

  mayReceive(sql: Sql): PendingQuery<Row[]> {
    return sql`
      exists (select from api_keys key
                join members member on member.account_id = key.account_id and member.role = 'owner'
               where key.id = mail.key_id and member.user_id = mail.user_id)`;
  }

  async write({ key_id }: QueuedMail): Promise<MailContent | undefined> {
    const key = await findReported(this.#sql, key_id);
    return key === undefined ? undefined : composeReported(key, this.#dashboardUrl);
  }
}

async function findReported(sql: Sql, keyId: Uuid | null): Promise<ReportedKey | undefined> {
  const [key] = await sql<ReportedKey[]>`
    select key.name, key.prefix, key.mode, account.id as account_id, account.name as account,
           ${accountLanguage(sql)} as language
      from api_keys key join accounts account on account.id = key.account_id
     where key.id = ${keyId}`;
  return key;
}

const textsIn = inEachLanguage((language, { keys }) => ({
  language,
  texts: textsOf(language, keys),
}));

function composeReported(key: ReportedKey, dashboardUrl: string | undefined): MailContent {
  const { language, texts } = textsIn(key.language ?? "");
  const { name, prefix, account, mode } = key;
  const link =
    dashboardUrl === undefined
      ? null
      : `${dashboardUrl}/${encodeId("acct", key.account_id)}/${mode}/settings/keys`;
  const paragraphs = [
    { text: texts.reported({ name, prefix: `${prefix}…`, account }), link: null },
    { text: texts.next(), link },
    { text: texts.reason(), link: null },
  ];
  return { language, title: texts.title(), ...writeParagraphs(paragraphs, texts.open()) };
}
