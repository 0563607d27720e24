/**
 * Setting a new password without the old one, by a link. The link is all that it takes, so it works
 * once and for a limited time, and only a hash of its token is stored. It comes from a mail to the
 * user's address, from an owner of the user's only account, or from the operator.
 *
 * The link of a mail is made while the mail is sent: the queue has none.
 */
import type { PendingQuery, Row } from "postgres";

import { RESET_MINUTES } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { textsOf } from "../../shared/languages/messages.ts";
import { hashToken, newToken } from "../auth/api-key.ts";
import { recordOfUser } from "../events/record.ts";
import { ApiError } from "../http/errors.ts";
import type { Origin } from "../http/principal.ts";
import {
  type MailContent,
  type MailKind,
  type QueuedMail,
  writeParagraphs,
} from "../mail/queue.ts";
import type { UserPasswords } from "../passwords/hashing.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { Attempts } from "./attempts.ts";
import type { PasswordRules } from "./password-rules.ts";
import { endSessions } from "./sql.ts";

/** A link that was made; nothing else has its token. */
export type Reset = { token: string; expires_at: Date };

/** Maximum links of a user that are valid at once; the oldest give way. */
const RESETS_MAX = 10;

/** A mail that could not be sent for this long is not sent any more: nobody waits for it. */
const WAITING_MINUTES = 60;

/** The path of the dashboard's page on which a token is used. */
export const resetPath = (token: string): string => `/reset-password/${token}`;

/** Throws `invalid_request` for a user who has no password that could be forgotten. */
export async function makeReset(sql: Sql | Transaction, userId: Uuid): Promise<Reset> {
  const { token, hash } = newToken();
  await sql`
    delete from password_resets where token_hash in (
      select token_hash from password_resets where user_id = ${userId}
       order by created_at desc, token_hash offset ${RESETS_MAX - 1})`;
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into password_resets (token_hash, user_id, expires_at)
    select ${hash}, user_id, clock_timestamp() + make_interval(mins => ${RESET_MINUTES})
      from credentials where user_id = ${userId} and provider_id = 'credential'
    returning expires_at`;
  if (row === undefined)
    throw new ApiError("invalid_request", "This user has no password: they sign in otherwise.");
  return { token, expires_at: row.expires_at };
}

/** Ends a user's links: those made before their password changed, or they joined an account. */
export async function endResets(sql: Sql | Transaction, userId: Uuid): Promise<void> {
  await sql`delete from password_resets where user_id = ${userId}`;
}

/** Links of people who have forgotten their password. */
export class PasswordResets {
  readonly #sql: Sql;
  readonly #attempts: Attempts;
  readonly #passwords: UserPasswords;
  readonly #rules: PasswordRules;

  constructor(sql: Sql, attempts: Attempts, passwords: UserPasswords, rules: PasswordRules) {
    this.#sql = sql;
    this.#attempts = attempts;
    this.#passwords = passwords;
    this.#rules = rules;
  }

  /**
   * Has a link mailed to the user of an address. Does the same, and takes as long, if nobody has
   * the address. Throws `rate_limited`.
   */
  async request(email: string, language: string): Promise<void> {
    const address = email.toLowerCase();
    await this.#sql.begin(async (sql) => {
      await this.#attempts.consumeReset(sql, address);
      if (!this.#rules.isAllowed(address)) return;
      await sql`
        insert into report_mails (id, kind, user_id, language)
        select gen_random_uuid(), 'password_reset', users.id, ${language}
          from users join credentials on user_id = users.id and provider_id = 'credential'
         where email = ${address}`;
    });
  }

  /** Finds the user of a token; throws `not_found` when it is not valid, and `forbidden`. */
  async find(token: string): Promise<{ id: Uuid; email: string; name: string }> {
    const [user] = await this.#sql<{ id: Uuid; email: string; name: string }[]>`
      select users.id, users.email, users.name
        from password_resets reset join users on users.id = reset.user_id
       where reset.token_hash = ${hashToken(token)} and reset.expires_at > clock_timestamp()`;
    if (user === undefined) throw noReset();
    this.#rules.requireAllowed(user.email);
    return user;
  }

  /**
   * Sets the password of a token's user, and ends all their sessions. Throws `not_found`, and
   * `invalid_request` for a password that is too weak, with which the token stays valid.
   */
  async use(token: string, password: string, origin: Origin): Promise<void> {
    const { email, name } = await this.find(token);
    this.#rules.requireStrong(password, [email, name]);
    const hash = await this.#passwords.hashForUser(password);
    // Of two uses at once one finds the token gone.
    await this.#sql.begin(async (sql) => {
      const id = await applyReset(sql, hashToken(token), hash);
      if (id === undefined) throw noReset();
      const actor = { type: "user", id, origin } as const;
      await recordOfUser(sql, id, actor, "user.password_changed", { by: "link" });
    });
  }
}

/**
 * Uses a link up, and its user's others with it: sets the password and ends every session. Returns
 * the user; undefined, and changes nothing, when the link is not valid any more.
 */
export async function applyReset(
  sql: Transaction,
  tokenHash: Buffer,
  passwordHash: string,
): Promise<Uuid | undefined> {
  const [used] = await sql<{ user_id: Uuid }[]>`
    delete from password_resets
     where token_hash = ${tokenHash} and expires_at > clock_timestamp()
    returning user_id`;
  if (used === undefined) return undefined;
  const { count } = await sql`
    update credentials set password = ${passwordHash}, updated_at = now()
     where user_id = ${used.user_id} and provider_id = 'credential'`;
  if (count !== 1) throw new Error("The user has no password that could be replaced.");
  await endSessions(sql, used.user_id);
  await endResets(sql, used.user_id);
  return used.user_id;
}

const noReset = (): ApiError =>
  new ApiError("not_found", "This link has been used or has expired. Ask for a new one.");

/**
 * Mails with a link. They have no text that anybody could choose. Each attempt to send makes a link
 * of its own.
 */
export class ResetMails implements MailKind {
  readonly #sql: Sql;
  readonly #dashboardUrl: string | undefined;

  /** `dashboardUrl` is where links lead. */
  constructor(sql: Sql, dashboardUrl: string | undefined) {
    this.#sql = sql;
    this.#dashboardUrl = dashboardUrl;
  }

  mayReceive(sql: Sql): PendingQuery<Row[]> {
    return sql`(mail.created_at > clock_timestamp() - make_interval(mins => ${WAITING_MINUTES}))`;
  }

  async write({ user_id: userId, language }: QueuedMail): Promise<MailContent | undefined> {
    if (this.#dashboardUrl === undefined) return undefined;
    const { token } = await makeReset(this.#sql, userId);
    return composeReset(language ?? "", `${this.#dashboardUrl}${resetPath(token)}`);
  }
}

const textsIn = inEachLanguage((language, { passwords }) => ({
  language,
  texts: textsOf(language, passwords),
}));

function composeReset(code: string, url: string): MailContent {
  const { language, texts } = textsIn(code);
  const paragraphs = [
    { text: texts.asked(), link: null },
    { text: texts.link({ minutes: RESET_MINUTES }), link: url },
    { text: texts.otherwise(), link: null },
  ];
  return { language, title: texts.title(), ...writeParagraphs(paragraphs, texts.open()) };
}
