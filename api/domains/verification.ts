/**
 * Proofs that an account owns a domain: the TXT records of verified domains and of those to verify.
 */
import { DAY_MS } from "../../shared/durations.ts";
import { freshResolver } from "../../shared/hosts.ts";
import type { Uuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import { type AccountScope, type Actor, type Author, OPERATOR, SYSTEM } from "../http/principal.ts";
import { errorCode, isUniqueViolation, type Sql, type Transaction } from "../postgres.ts";
import { domainEvent, type DomainRow, verificationName } from "./model.ts";
import { domainColumns, domainRows, enqueueNotice, enqueueRemoval, hasNotice } from "./notices.ts";

/**
 * How long a verified domain's proof may be missing before another account's proof can take it
 * over.
 */
const GRACE_MS = 7 * DAY_MS;

/** The outcome of a look-up at `askedAt`; null when the domain was verified before. */
export type Verification = { row: DomainRow; problem: string | null; askedAt: Date | null };

/**
 * Looks up the TXT record and marks the domain as verified if it matches; `isNoticed` says whether
 * that is to be published. A verified domain stays verified. Throws `domain_taken`, and
 * `unavailable` when DNS fails.
 */
export async function verifyDomain(
  sql: Sql,
  readTxt: ReadTxt,
  owner: Author,
  row: DomainRow,
): Promise<Verification & { isNoticed: boolean }> {
  const unchanged = { row, isNoticed: false };
  if (row.verified_at !== null) return { ...unchanged, problem: null, askedAt: null };
  const name = verificationName(row.host);
  const askedAt = new Date();
  const records = await readTxt(name);
  if (!records.includes(row.verification_value)) {
    const problem =
      records.length === 0
        ? `There is no TXT record at ${name} yet.`
        : `The TXT record at ${name} has another value.`;
    return { ...unchanged, problem, askedAt };
  }
  try {
    const taken = await sql.begin((transaction) => take(transaction, owner, row, records));
    return { ...taken, problem: null, askedAt };
  } catch (error) {
    throw isUniqueViolation(error, "domains_verified_host") ? domainTaken(row.host) : error;
  }
}

/**
 * Marks a domain as verified, and its earlier links as due for republishing. Takes it from an
 * account whose proof is stale and missing from the records. If another account verified it first,
 * violates `domains_verified_host`.
 */
async function take(
  transaction: Transaction,
  owner: Author,
  row: DomainRow,
  records: readonly string[],
): Promise<{ row: DomainRow; isNoticed: boolean }> {
  const holder = await lockVerified(transaction, row.host);
  const isDisplaced =
    holder !== undefined &&
    holder.id !== row.id &&
    isStale(holder.missing_since) &&
    !records.includes(holder.verification_value);
  if (isDisplaced) await displace(transaction, holder, SYSTEM);
  // Another request may have verified it just now.
  const before = await domainRows.find(transaction, owner, row.id, true);
  const [verified = row] = await transaction<DomainRow[]>`
    update domains
       set verified_at = coalesce(verified_at, clock_timestamp()), missing_since = null, checked_at = clock_timestamp(),
           republishing = republishing or verified_at is null and exists (
             select from links where domain_id = ${row.id})
     where id = ${row.id}
    returning ${domainColumns(transaction)}`;
  if (before?.verified_at === null)
    await recordEvents(transaction, owner, [domainEvent("domain.verified", verified)]);
  // Publishes a notice if the previous account had settings, or this account has earlier ones.
  const isNoticed = isDisplaced || hasNotice(verified);
  if (isNoticed) await enqueueNotice(transaction, verified);
  return { row: verified, isNoticed };
}

/** Takes a domain from the account that has verified it, and tells the account so. */
async function displace(
  transaction: Transaction,
  holder: VerifiedDomain,
  actor: Actor,
): Promise<void> {
  // Its links are due for withdrawal.
  await transaction`
    update domains
       set verified_at = null, missing_since = null, switching = false,
           republishing = exists (select from links where domain_id = ${holder.id})
     where id = ${holder.id}`;
  const released = { ...holder, verified_at: null, missing_since: null, switching: false };
  const author = { accountId: holder.account_id, mode: holder.mode, actor };
  await recordEvents(transaction, author, [domainEvent("domain.displaced", released)]);
}

type VerifiedDomain = DomainRow & { mode: AccountScope["mode"] };

async function lockVerified(
  transaction: Transaction,
  host: string,
): Promise<VerifiedDomain | undefined> {
  const [row] = await transaction<VerifiedDomain[]>`
    select mode, ${domainColumns(transaction)} from domains where host = ${host} and verified_at is not null for update`;
  return row;
}

/**
 * Takes a host from the account that has verified it, on an operator's command. Its links are
 * withdrawn, and any account may verify it; API processes publish what this adds to the outbox.
 * Returns false if no account had it.
 */
export const releaseHost = (sql: Sql, host: string): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const holder = await lockVerified(transaction, host);
    if (holder === undefined) return false;
    await displace(transaction, holder, OPERATOR);
    await enqueueRemoval(transaction, holder);
    return true;
  });

/**
 * Looks up proofs that were last looked up more than a day ago, at most `limit`. Returns how many
 * there were.
 */
export async function checkProofs(sql: Sql, readTxt: ReadTxt, limit: number): Promise<number> {
  const due = await sql<{ id: Uuid; host: string; verification_value: string }[]>`
    update domains set checked_at = now()
     where id in (
       select id from domains
        where verified_at is not null and coalesce(checked_at, verified_at) < now() - interval '1 day'
        order by coalesce(checked_at, verified_at) limit ${limit} for update skip locked)
    returning id, host, verification_value`;
  for (const { id, host, verification_value } of due) {
    const records = await readTxt(verificationName(host)).catch(() => undefined);
    if (records === undefined)
      // A failed DNS query does not prove that the record is absent: it is asked again in an hour.
      await sql`update domains set checked_at = now() - interval '23 hours' where id = ${id}`;
    else
      await sql`
        update domains
           set missing_since = case when ${records.includes(verification_value)} then null
                                    else coalesce(missing_since, now()) end
         where id = ${id} and verified_at is not null`;
  }
  return due.length;
}

/** Whether a proof has been missing for longer than the grace period. */
export const isStale = (missingSince: Date | null): boolean =>
  missingSince !== null && Date.now() - missingSince.getTime() > GRACE_MS;

export const domainTaken = (host: string): ApiError =>
  new ApiError("domain_taken", `${host} has been verified by an account already.`);

const DNS_TIMEOUT_MS = 1_500;

/** Error codes for a name that does not exist or has no TXT record. */
const NOT_FOUND_CODES = new Set(["ENOTFOUND", "ENODATA"]);

/**
 * Returns the TXT records of a name; none if it does not exist. Throws `unavailable` when
 * DNS fails.
 */
export type ReadTxt = (name: string) => Promise<string[]>;

/** Queries `servers` (`address` or `address:port`), or the system's resolvers if empty. */
export async function resolveTxt(servers: readonly string[], name: string): Promise<string[]> {
  try {
    const records = await freshResolver(servers, DNS_TIMEOUT_MS).resolveTxt(name);
    // A record longer than 255 bytes consists of several strings, which are concatenated (RFC 7208
    // §3.3). Some DNS panels keep the quotation marks in which people write a value.
    return records.map((strings) => strings.join("").replaceAll('"', "").trim());
  } catch (error) {
    if (NOT_FOUND_CODES.has(errorCode(error) ?? "")) return [];
    throw unavailable(error);
  }
}
