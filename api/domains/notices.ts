/**
 * Domains as accounts have them, and their notices in the links log, which give redirectors the
 * domains' settings.
 */
import { ENCODED_LINK_BYTES_MAX, encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { type DomainNotice, domainNotice } from "../../shared/contracts/notices.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { addToOutbox } from "../links-log/log.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type DomainRow, toNoticeSettings } from "./model.ts";

export const domainColumns = (sql: Sql | Transaction) => sql`
  id, account_id, host, verification_value, created_at, verified_at, case_sensitive, switching, settings,
  missing_since`;

/** No link is created on a domain that is locked until the transaction ends. */
export const domainRows = new OwnedRows<DomainRow>("domains", domainColumns);

/**
 * Whether redirectors may hold settings of a domain. A pending domain may meanwhile belong to
 * another account.
 */
export const hasNotice = ({
  verified_at,
  settings,
  case_sensitive,
  switching,
}: DomainRow): boolean =>
  verified_at !== null && (settings !== null || !case_sensitive || switching);

/**
 * Adds the notice of a domain, which the transaction has locked, to the outbox. Throws
 * `invalid_request` when it is too large for a message.
 */
export async function enqueueNotice(transaction: Transaction, row: DomainRow): Promise<void> {
  const message = noticeOf(row);
  const { length } = encodeLinkRecord(message);
  if (length > ENCODED_LINK_BYTES_MAX)
    throw new ApiError(
      "invalid_request",
      `The settings take ${length} bytes together; at most ${ENCODED_LINK_BYTES_MAX} are allowed.`,
    );
  await addToOutbox(transaction, [message]);
}

/** Adds a notice for a removed domain, which the transaction has locked: one without settings. */
export const enqueueRemoval = (transaction: Transaction, { host }: DomainRow): Promise<void> =>
  addToOutbox(transaction, [domainNotice(host, {})]);

const BATCH = 500;

/** Reads the notices of all domains that have one, in batches. */
export async function* readDomainNotices(sql: Sql): AsyncGenerator<DomainNotice[]> {
  for (let after: Uuid | null = null; ;) {
    const rows: DomainRow[] = await sql`
      select ${domainColumns(sql)} from domains
       where verified_at is not null and (settings is not null or not case_sensitive or switching)
         and (${after}::uuid is null or id > ${after})
       order by id limit ${BATCH}`;
    if (rows.length > 0) yield rows.map(noticeOf);
    after = rows.at(-1)?.id ?? null;
    if (rows.length < BATCH) return;
  }
}

const noticeOf = (row: DomainRow): DomainNotice =>
  domainNotice(row.host, toNoticeSettings(row), row.account_id);
