/** Notices of domains in the links feed, which give redirectors the domains' settings. */
import { type DomainNotice, domainNotice } from "../../shared/contracts/feed-notices.ts";
import { ENCODED_LINK_BYTES_MAX, encodeLinkMessage } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { addToOutbox, type OutboxEntry } from "../feed/outbox.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import {
  drawFreeVersion,
  drawVersion,
  drawVersions,
  lockNoticedDomains,
  lockNoticedDomainsOf,
  lockNoticedHosts,
  selectNoticedDomains,
} from "./notices-sql.ts";
import { toFeedSettings } from "./settings.ts";

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
export async function enqueueNotice(
  transaction: Transaction,
  row: DomainRow,
): Promise<OutboxEntry[]> {
  const message = noticeOf(row, await drawVersion(transaction, row.id));
  const { length } = encodeLinkMessage(message);
  if (length > ENCODED_LINK_BYTES_MAX)
    throw new ApiError(
      "invalid_request",
      `The settings take ${length} bytes together; at most ${ENCODED_LINK_BYTES_MAX} are allowed.`,
    );
  return await addToOutbox(transaction, [message]);
}

/** Adds a notice for a removed domain: one without settings. */
export async function enqueueRemoval(
  transaction: Transaction,
  { id, host }: Pick<DomainRow, "id" | "host">,
): Promise<OutboxEntry[]> {
  const message = domainNotice(await drawVersion(transaction, id), host, {});
  return await addToOutbox(transaction, [message]);
}

/** Domains per transaction, which holds their locks. */
const BATCH = 500;

/** Adds the notices of all domains with settings to the outbox again; yields them in batches. */
export async function* renewDomainNotices(sql: Sql): AsyncGenerator<OutboxEntry[]> {
  for (let after: Uuid | null = null; ;) {
    const last: Uuid | null = after;
    const { rows, entries }: RenewedBatch = await sql.begin((transaction) =>
      renewBatch(transaction, last),
    );
    if (entries.length > 0) yield entries;
    after = rows.at(-1)?.id ?? null;
    if (rows.length < BATCH) return;
  }
}

type RenewedBatch = { rows: DomainRow[]; entries: OutboxEntry[] };

async function renewBatch(transaction: Transaction, after: Uuid | null): Promise<RenewedBatch> {
  const rows = await lockNoticedDomains(transaction, after, BATCH);
  return { rows, entries: await renew(transaction, rows) };
}

/**
 * Adds the notices of an account's domains to the outbox again, because notices of earlier versions
 * do not name the account.
 */
export const renewNoticesOf = async (
  transaction: Transaction,
  accountId: Uuid,
): Promise<OutboxEntry[]> =>
  await renew(transaction, await lockNoticedDomainsOf(transaction, accountId));

async function renew(transaction: Transaction, rows: readonly DomainRow[]): Promise<OutboxEntry[]> {
  const versions = await drawVersions(
    transaction,
    rows.map(({ id }) => id),
  );
  const messages = rows.map((row, i) => noticeOf(row, versions[i] ?? 0));
  return await addToOutbox(transaction, messages);
}

/** Reads the notices of all domains as they were published last, in batches. */
export async function* readDomainNotices(sql: Sql): AsyncGenerator<DomainNotice[]> {
  for (let after: Uuid | null = null; ;) {
    const rows = await selectNoticedDomains(sql, after, BATCH);
    if (rows.length > 0) yield rows.map((row) => noticeOf(row, row.notice_version));
    after = rows.at(-1)?.id ?? null;
    if (rows.length < BATCH) return;
  }
}

const noticeOf = (row: DomainRow, version: number): DomainNotice =>
  domainNotice(version, row.host, toFeedSettings(row), row.account_id);

/**
 * Adds notices without settings to the outbox, for the hosts that are not a verified domain with
 * settings.
 */
export async function withdrawNotices(
  transaction: Transaction,
  hosts: readonly string[],
): Promise<OutboxEntry[]> {
  if (hosts.length === 0) return [];
  const noticed = await lockNoticedHosts(transaction, hosts);
  const messages: DomainNotice[] = [];
  for (const host of hosts.filter((name) => !noticed.has(name)))
    messages.push(domainNotice(await drawFreeVersion(transaction), host, {}));
  return await addToOutbox(transaction, messages);
}
