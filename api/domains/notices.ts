/** Notices of domains in the links log, which give redirectors the domains' settings. */
import { ENCODED_LINK_BYTES_MAX, encodeLinkMessage } from "../../shared/contracts/link-record.ts";
import { type DomainNotice, domainNotice } from "../../shared/contracts/notices.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { addToOutbox } from "../links-log/log.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import { toNoticeSettings } from "./settings.ts";
import { domainColumns } from "./sql.ts";

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
 * Adds the notice of a domain to the outbox. Throws `invalid_request` when it is too large for a
 * message.
 */
export async function enqueueNotice(transaction: Transaction, row: DomainRow): Promise<void> {
  const message = noticeOf(row, await drawVersion(transaction, row.id));
  const { length } = encodeLinkMessage(message);
  if (length > ENCODED_LINK_BYTES_MAX)
    throw new ApiError(
      "invalid_request",
      `The settings take ${length} bytes together; at most ${ENCODED_LINK_BYTES_MAX} are allowed.`,
    );
  await addToOutbox(transaction, [message]);
}

/** Adds a notice for a removed domain: one without settings. */
export async function enqueueRemoval(
  transaction: Transaction,
  { id, host }: DomainRow,
): Promise<void> {
  const message = domainNotice(await drawVersion(transaction, id), host, {});
  await addToOutbox(transaction, [message]);
}

const BATCH = 500;

/** Reads the notices of all domains as they were published last, in batches. */
export async function* readDomainNotices(sql: Sql): AsyncGenerator<DomainNotice[]> {
  for (let after: Uuid | null = null; ;) {
    const rows: (DomainRow & { notice_version: number })[] = await sql`
      select ${domainColumns(sql)}, version::float8 as notice_version from domains
       where version > 0 and verified_at is not null and (${after}::uuid is null or id > ${after})
       order by id limit ${BATCH}`;
    if (rows.length > 0) yield rows.map((row) => noticeOf(row, row.notice_version));
    after = rows.at(-1)?.id ?? null;
    if (rows.length < BATCH) return;
  }
}

const noticeOf = (row: DomainRow, version: number): DomainNotice =>
  domainNotice(version, row.host, toNoticeSettings(row), row.account_id);

async function drawVersion(transaction: Transaction, id: Uuid): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    with drawn as (select next_link_version() as version)
    , noted as (update domains set version = drawn.version from drawn where id = ${id})
    select version from drawn`;
  return Number(row.version);
}
