/** The operations on custom domains. */
import { randomBytes } from "node:crypto";

import type { ChangeDomainBody } from "../../shared/contracts/domain-settings.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { LinkPublisher } from "../feed/link-publisher.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { type ListPart, type ListRequest, readPart } from "../http/pagination.ts";
import type { AccountScope } from "../http/principal.ts";
import {
  isForeignKeyViolation,
  isUniqueViolation,
  type Sql,
  type Transaction,
} from "../postgres.ts";
import type { ReadTxt } from "./dns.ts";
import { parseDomain } from "./host.ts";
import { type DomainRow, verificationName } from "./model.ts";
import { enqueueNotice, enqueueRemoval } from "./notices.ts";
import { mergeDomainSettings, prepareDomainSettings } from "./settings.ts";
import {
  claimDueProofs,
  countDomains,
  countLinks,
  deleteDomain,
  findCollisions,
  findDomain,
  findVerifiedHost,
  findVerifiedHosts,
  finishRepublishing,
  finishSwitching,
  foldAliases,
  hasUnpublished,
  insertDomain,
  listDomains,
  listHosts,
  listVerifiedHosts,
  lockDomain,
  lockRepublishing,
  lockSwitching,
  lockVerified,
  markReleased,
  markVerified,
  postponeProof,
  recordProof,
  updateDomain,
} from "./sql.ts";

/** Maximum links of a domain that may switch: each is rewritten and republished. */
const SWITCHED_LINKS_MAX = 10_000;

/**
 * How long a verified domain's proof may be missing before another account's proof can take it
 * over.
 */
const GRACE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Maximum aliases that an error names. */
const COLLISIONS_NAMED_MAX = 50;

type DomainServiceDeps = {
  sql: Sql;
  readTxt: ReadTxt;
  /** Host names of the service's own short domain. */
  ownHosts: ReadonlySet<string>;
  feed: Pick<LinkPublisher, "publish">;
  /** Returns a URL unchanged if a link may redirect to it; throws `invalid_url`. */
  checkDestination: (url: string) => Promise<string>;
};

export type DomainService = ReturnType<typeof createDomainService>;

export function createDomainService({
  sql,
  feed,
  readTxt,
  ownHosts,
  checkDestination,
}: DomainServiceDeps) {
  /**
   * Adds a pending domain. Throws `invalid_request`, `quota_exceeded`, and `domain_taken` when any
   * account has verified it or the owner has already added it under another id.
   */
  async function create(owner: AccountScope, id: Uuid, text: string): Promise<DomainRow> {
    const parsed = parseDomain(text);
    if ("problem" in parsed) throw invalidDomain(parsed.problem);
    const { host } = parsed;
    if (ownHosts.has(host)) throw invalidDomain("is the service's own");
    const holder = await findVerifiedHost(sql, host);
    if (holder !== undefined && !isStale(holder.missingSince)) throw domainTaken(host);
    const verificationValue = `shorthop-verification=${randomBytes(20).toString("hex")}`;
    try {
      return await insertDomain(sql, { ...owner, id, host, verificationValue });
    } catch (error) {
      // An earlier attempt of the same request may have committed the domain.
      const existing = await findDomain(sql, owner, id);
      if (existing !== undefined) return existing;
      if (!isUniqueViolation(error, "domains_by_account")) throw error;
      throw new ApiError("domain_taken", `The account has added ${host} already.`);
    }
  }

  /** Finds one of the owner's domains; throws `not_found`. */
  async function get(owner: AccountScope, id: Uuid | undefined): Promise<DomainRow> {
    const row = id === undefined ? undefined : await findDomain(sql, owner, id);
    if (row === undefined) throw notFound("domain");
    return row;
  }

  /**
   * Looks up the TXT record and marks the domain as verified if it matches. A verified domain stays
   * verified. Throws `not_found`, `domain_taken`, and `unavailable` when DNS fails.
   */
  async function verify(
    owner: AccountScope,
    id: Uuid | undefined,
  ): Promise<{ row: DomainRow; problem: string | null }> {
    const row = await get(owner, id);
    if (row.verified_at !== null) return { row, problem: null };
    const name = verificationName(row.host);
    const records = await readTxt(name);
    if (!records.includes(row.verification_value)) {
      const problem =
        records.length === 0
          ? `There is no TXT record at ${name} yet.`
          : `The TXT record at ${name} has another value.`;
      return { row, problem };
    }
    try {
      const { verified, entry } = await sql.begin((transaction) => take(transaction, row, records));
      if (entry !== undefined) await feed.publish(entry.message, entry.outboxId);
      return { row: verified, problem: null };
    } catch (error) {
      throw isUniqueViolation(error, "domains_verified_host") ? domainTaken(row.host) : error;
    }
  }

  /**
   * Takes a host from the account that has verified it, on an operator's command. Its links are
   * withdrawn, and any account may verify it. Returns false if no account had it.
   */
  async function release(host: string): Promise<boolean> {
    const entry = await sql.begin(async (transaction) => {
      const holder = await lockVerified(transaction, host);
      if (holder === undefined) return undefined;
      await markReleased(transaction, holder.id);
      return await enqueueRemoval(transaction, holder);
    });
    if (entry !== undefined) await feed.publish(entry.message, entry.outboxId);
    return entry !== undefined;
  }

  /** Looks up the proofs that are due: see `proof-checks.ts`. Returns how many were due. */
  async function checkProofs(limit: number): Promise<number> {
    const due = await claimDueProofs(sql, limit);
    for (const { id, host, verification_value } of due) {
      const records = await readTxt(verificationName(host)).catch(() => undefined);
      // A failed DNS query does not prove that the record is absent.
      if (records === undefined) await postponeProof(sql, id);
      else await recordProof(sql, id, records.includes(verification_value));
    }
    return due.length;
  }

  /**
   * Calls `work` with a domain whose links must be published (`verified`) or withdrawn, unless
   * another process holds it. If `work` returns true, the domain is marked as done.
   */
  async function withRepublishing(
    work: (id: Uuid, verified: boolean) => Promise<boolean>,
  ): Promise<void> {
    if (!(await hasUnpublished(sql))) return;
    await sql.begin(async (lock) => {
      const found = await lockRepublishing(lock);
      if (found === undefined || !(await work(found.id, found.verified))) return;
      await finishRepublishing(sql, found.id, found.verified);
    });
  }

  /** Returns a URL unchanged after the checks that every destination must pass. */
  async function checkUrl(field: string, url: string): Promise<string> {
    try {
      return await checkDestination(url);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "invalid_url") throw error;
      const message = `Invalid value for "${field}": ${error.message}`;
      throw new ApiError("invalid_url", message, { param: field });
    }
  }

  /**
   * Changes the settings of a verified domain and publishes them to the redirectors. `propagated`
   * is false when the feed was unreachable. Throws `not_found`, `invalid_url`, `invalid_request`,
   * `aliases_collide`, and `conflict` while the domain is already switching.
   */
  async function update(
    owner: AccountScope,
    id: Uuid | undefined,
    body: ChangeDomainBody,
  ): Promise<{ row: DomainRow; propagated: boolean }> {
    if (id === undefined) throw notFound("domain");
    const change = await prepareDomainSettings(body, checkUrl);
    const { row, entry } = await sql.begin(async (transaction) => {
      const old = await lockDomain(transaction, owner, id);
      if (old === undefined) throw notFound("domain");
      const changed = {
        ...old,
        settings: mergeDomainSettings(old.settings, change),
        case_sensitive: body.case_sensitive ?? old.case_sensitive,
      };
      if (Bun.deepEquals(changed, old)) return { row: old, entry: undefined };
      if (old.verified_at === null)
        throw new ApiError("invalid_request", "The domain must be verified first.");
      if (changed.case_sensitive !== old.case_sensitive) {
        await switchCase(transaction, changed);
        changed.switching = true;
      }
      await updateDomain(transaction, changed);
      return { row: changed, entry: await enqueueNotice(transaction, changed) };
    });
    if (entry === undefined) return { row, propagated: true };
    return { row, propagated: await feed.publish(entry.message, entry.outboxId) };
  }

  /**
   * Calls `work` with a domain that is switching, unless another process holds it. If `work`
   * returns true, the switch is complete, and its notice is published to the redirectors.
   */
  async function withSwitching(work: (id: Uuid) => Promise<boolean>): Promise<void> {
    if (!(await hasUnpublished(sql))) return;
    await sql.begin(async (lock) => {
      const id = await lockSwitching(lock);
      if (id === undefined || !(await work(id))) return;
      const entry = await sql.begin(async (transaction) => {
        const row = await finishSwitching(transaction, id);
        return row === undefined ? undefined : await enqueueNotice(transaction, row);
      });
      if (entry !== undefined) await feed.publish(entry.message, entry.outboxId);
    });
  }

  /** Removes a domain; throws `not_found`, and `domain_in_use` while it has links. */
  async function remove(owner: AccountScope, id: Uuid | undefined): Promise<void> {
    const row = await get(owner, id);
    try {
      const entry = await sql.begin(async (transaction) => {
        const locked = await lockDomain(transaction, owner, row.id);
        const removal =
          locked !== undefined && hasNotice(locked)
            ? await enqueueRemoval(transaction, locked)
            : undefined;
        await deleteDomain(transaction, row.id);
        return removal;
      });
      if (entry !== undefined) await feed.publish(entry.message, entry.outboxId);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new ApiError("domain_in_use", `${row.host} still has links. Delete them first.`);
    }
  }

  /**
   * Finds the owner's verified domain of that name; throws `invalid_request` when there is none.
   */
  async function requireVerified(
    owner: AccountScope,
    text: string,
  ): Promise<{ id: Uuid; host: string; caseSensitive: boolean }> {
    const parsed = parseDomain(text);
    const host = "host" in parsed ? parsed.host : "";
    const found = host === "" ? undefined : await findVerifiedHost(sql, host);
    if (found?.accountId !== owner.accountId || found.mode !== owner.mode) {
      throw invalidDomain("must be a verified domain of the account");
    }
    return { id: found.id, host, caseSensitive: found.caseSensitive };
  }

  return {
    create,
    get,
    verify,
    update,
    release,
    checkProofs,
    withSwitching,
    withRepublishing,
    remove,
    requireVerified,
    /** Lists the owner's domains, newest first. */
    list: (owner: AccountScope, request: ListRequest): Promise<ListPart<DomainRow>> =>
      readPart(
        request,
        (limit, start) => listDomains(sql, owner, limit, start),
        () => countDomains(sql, owner),
      ),
    /** Lists the owner's verified domains and when each was verified. */
    listVerified: (owner: AccountScope): Promise<{ host: string; verifiedAt: Date }[]> =>
      listVerifiedHosts(sql, owner),
    /**
     * Returns the owner's domains among the hosts, verified or not, and up to `othersMax` of the
     * owner's other domains.
     */
    async findHosts(
      owner: AccountScope,
      preferred: readonly string[],
      othersMax: number,
    ): Promise<{ known: string[]; others: string[] }> {
      const hosts = await listHosts(sql, owner, preferred, preferred.length + othersMax);
      const known = hosts.filter((host) => preferred.includes(host));
      return { known, others: hosts.slice(known.length, known.length + othersMax) };
    },
    /**
     * Whether a host is a verified domain of any account, which means that it serves short links.
     */
    isCustom: async (host: string): Promise<boolean> =>
      (await findVerifiedHost(sql, host)) !== undefined,
    /** As `isCustom` for many hosts: returns those that are. */
    findCustom: (hosts: readonly string[]): Promise<ReadonlySet<string>> =>
      findVerifiedHosts(sql, hosts),
  };
}

/**
 * Makes the aliases of a locked domain case-insensitive or case-sensitive. Throws
 * `aliases_collide`, and `invalid_request` for a domain with more than {@link SWITCHED_LINKS_MAX}
 * links.
 */
async function switchCase(
  transaction: Transaction,
  { id, case_sensitive, switching }: DomainRow,
): Promise<void> {
  if (switching) throw new ApiError("conflict", "The domain is still switching.");
  if ((await countLinks(transaction, id, SWITCHED_LINKS_MAX)) > SWITCHED_LINKS_MAX)
    throw invalidField(
      "case_sensitive",
      `cannot be changed on a domain with more than ${SWITCHED_LINKS_MAX} links`,
    );
  const collisions = case_sensitive
    ? []
    : await findCollisions(transaction, id, COLLISIONS_NAMED_MAX);
  if (collisions.length > 0)
    throw new ApiError(
      "aliases_collide",
      `These aliases differ only in case: ${collisions.join(", ")}.`,
      {
        param: "case_sensitive",
      },
    );
  await foldAliases(transaction, id, !case_sensitive);
}

/**
 * Marks a domain as verified. Takes it from an account whose proof is stale and missing from the
 * records.
 */
async function take(transaction: Transaction, row: DomainRow, records: readonly string[]) {
  const holder = await lockVerified(transaction, row.host);
  const isDisplaced =
    holder !== undefined &&
    holder.id !== row.id &&
    isStale(holder.missing_since) &&
    !records.includes(holder.verification_value);
  if (isDisplaced) await markReleased(transaction, holder.id);
  const verified = (await markVerified(transaction, row.id)) ?? row;
  // Publishes a notice if the previous account had settings, or this account has earlier ones.
  const isChanged = isDisplaced || hasNotice(verified);
  const entry = isChanged ? await enqueueNotice(transaction, verified) : undefined;
  return { verified, entry };
}

/** Whether a proof has been missing for longer than the grace period. */
const isStale = (missingSince: Date | null): boolean =>
  missingSince !== null && Date.now() - missingSince.getTime() > GRACE_MS;

/**
 * Whether redirectors may hold settings of a domain. A pending domain may meanwhile belong to
 * another account.
 */
const hasNotice = ({ verified_at, settings, case_sensitive, switching }: DomainRow): boolean =>
  verified_at !== null && (settings !== null || !case_sensitive || switching);

const invalidDomain = (problem: string): ApiError => invalidField("domain", problem);

const domainTaken = (host: string): ApiError =>
  new ApiError("domain_taken", `${host} has been verified by an account already.`);
