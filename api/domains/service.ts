/** The operations on custom domains. */
import { randomBytes } from "node:crypto";

import type { ChangeDomainBody } from "../../shared/contracts/domain-settings.ts";
import type { Uuid } from "../../shared/ids.ts";
import { changesBetween } from "../events/changes.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { type ListPart, type ListRequest, readPart } from "../http/pagination.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { countOwned, requireFound } from "../owned-rows.ts";
import { isForeignKeyViolation, isUniqueViolation, type Sql } from "../postgres.ts";
import { domainEvent, domainFields } from "./events.ts";
import { parseDomain } from "./host.ts";
import type { DomainRow } from "./model.ts";
import { enqueueNotice, enqueueRemoval, hasNotice } from "./notices.ts";
import { switchCase, withRepublishing, withSwitching } from "./republishing.ts";
import { mergeDomainSettings, prepareDomainSettings } from "./settings.ts";
import {
  deleteDomain,
  findDomain,
  findVerifiedHost,
  findVerifiedHosts,
  insertDomain,
  listDomains,
  listHosts,
  listVerifiedHosts,
  lockDomain,
  updateDomain,
} from "./sql.ts";
import {
  checkProofs,
  domainTaken,
  isStale,
  releaseHost,
  type VerificationDeps,
  verifyDomain,
} from "./verification.ts";

type DomainServiceDeps = VerificationDeps & {
  /** Host names of the service's own short domain. */
  ownHosts: ReadonlySet<string>;
  /** Returns a URL unchanged if a link may redirect to it; throws `invalid_url`. */
  checkDestination: (url: string) => Promise<string>;
  /** The budget of links that an account changes many at once. */
};

export type DomainService = ReturnType<typeof createDomainService>;

export const createDomainService = (deps: DomainServiceDeps) => ({
  ...createOwnerOperations(deps),
  ...createHostLookups(deps.sql),

  /** Takes a host from its account, on an operator's command: see `verification.ts`. */
  release: (host: string) => releaseHost(deps, host),
  /** Looks up the proofs that are due: see `proof-checks.ts`. Returns how many were due. */
  checkProofs: (limit: number) => checkProofs(deps, limit),
  /** Calls `work` with a domain that is switching: see `republishing.ts`. */
  withSwitching: (work: (id: Uuid) => Promise<boolean>) => withSwitching(deps, work),
  /** Calls `work` with a domain whose links must be published (`verified`) or withdrawn. */
  withRepublishing: (work: (id: Uuid, verified: boolean) => Promise<boolean>) =>
    withRepublishing(deps.sql, work),
});

/** What an owner does with a domain. */
const createOwnerOperations = (deps: DomainServiceDeps) => ({
  create: (owner: Author, id: Uuid, text: string) => createDomain(deps, owner, id, text),
  get: (owner: AccountScope, id: Uuid | undefined) => getDomain(deps.sql, owner, id),
  /** Verifies one of the owner's domains: see `verification.ts`. Throws also `not_found`. */
  verify: async (owner: Author, id: Uuid | undefined) =>
    await verifyDomain(deps, owner, await getDomain(deps.sql, owner, id)),
  update: (owner: Writer, id: Uuid | undefined, body: ChangeDomainBody) =>
    changeDomain(deps, owner, id, body),
  remove: (owner: Author, id: Uuid | undefined) => removeDomain(deps, owner, id),
  requireVerified: (owner: AccountScope, text: string) => requireVerified(deps.sql, owner, text),
});

/** Lists of domains and hosts. */
const createHostLookups = (sql: Sql) => ({
  /** Lists the owner's domains, newest first. */
  list: (owner: AccountScope, request: ListRequest): Promise<ListPart<DomainRow>> =>
    readPart(
      request,
      (limit, start) => listDomains(sql, owner, limit, start),
      () => countOwned(sql, owner, "domains"),
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
});

/**
 * Adds a pending domain. Throws `invalid_request`, `quota_exceeded`, and `domain_taken` when any
 * account has verified it or the owner has already added it under another id.
 */
async function createDomain(
  { sql, ownHosts }: DomainServiceDeps,
  owner: Author,
  id: Uuid,
  text: string,
): Promise<DomainRow> {
  const parsed = parseDomain(text);
  if ("problem" in parsed) throw invalidDomain(parsed.problem);
  const { host } = parsed;
  if (ownHosts.has(host)) throw invalidDomain("is the service's own");
  const holder = await findVerifiedHost(sql, host);
  if (holder !== undefined && !isStale(holder.missingSince)) throw domainTaken(host);
  const verificationValue = `shorthop-verification=${randomBytes(20).toString("hex")}`;
  try {
    return await sql.begin(async (transaction) => {
      const row = await insertDomain(transaction, { ...owner, id, host, verificationValue });
      await recordEvents(transaction, owner, [domainEvent("domain.created", row)]);
      return row;
    });
  } catch (error) {
    // An earlier attempt of the same request may have committed the domain.
    const existing = await findDomain(sql, owner, id);
    if (existing !== undefined) return existing;
    if (!isUniqueViolation(error, "domains_by_account")) throw error;
    throw new ApiError("domain_taken", `The account has added ${host} already.`);
  }
}

/** Finds one of the owner's domains; throws `not_found`. */
async function getDomain(sql: Sql, owner: AccountScope, id: Uuid | undefined): Promise<DomainRow> {
  const row = id === undefined ? undefined : await findDomain(sql, owner, id);
  return await requireFound(row, sql, owner, { table: "domains", id });
}

/**
 * Changes the settings of a verified domain and publishes them to the redirectors. `propagated`
 * is false when the tail was unreachable. Throws `not_found`, `invalid_url`, `invalid_request`,
 * `aliases_collide`, `conflict` while the domain is already switching, and `rate_limited` when the
 * account has no links left that it may change at once.
 */
async function changeDomain(
  { sql, publisher, checkDestination }: DomainServiceDeps,
  owner: Writer,
  id: Uuid | undefined,
  body: ChangeDomainBody,
): Promise<{ row: DomainRow; propagated: boolean }> {
  if (id === undefined) throw notFound("domain");
  const change = await prepareDomainSettings(body, (field, url) =>
    checkUrl(checkDestination, field, url),
  );
  const { row, isChanged } = await sql.begin(async (transaction) => {
    const locked = await lockDomain(transaction, owner, id);
    const old = await requireFound(locked, transaction, owner, { table: "domains", id });
    const changed = {
      ...old,
      settings: mergeDomainSettings(old.settings, change),
      case_sensitive: body.case_sensitive ?? old.case_sensitive,
    };
    if (Bun.deepEquals(changed, old)) return { row: old, isChanged: false };
    if (old.verified_at === null)
      throw new ApiError("invalid_request", "The domain must be verified first.");
    if (changed.case_sensitive !== old.case_sensitive) {
      await switchCase(transaction, changed, owner);
      changed.switching = true;
    }
    await updateDomain(transaction, changed);
    const changes = changesBetween(domainFields(old), domainFields(changed));
    await recordEvents(transaction, owner, [domainEvent("domain.updated", changed, changes)]);
    await enqueueNotice(transaction, changed);
    return { row: changed, isChanged: true };
  });
  return { row, propagated: !isChanged || (await publisher.publish()) };
}

/** Returns a URL unchanged after the checks that every destination must pass. */
async function checkUrl(
  checkDestination: DomainServiceDeps["checkDestination"],
  field: string,
  url: string,
): Promise<string> {
  try {
    return await checkDestination(url);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "invalid_url") throw error;
    const message = `Invalid value for "${field}": ${error.message}`;
    throw new ApiError("invalid_url", message, { param: field });
  }
}

/** Removes a domain; throws `not_found`, and `domain_in_use` while it has links. */
async function removeDomain(
  { sql, publisher }: DomainServiceDeps,
  owner: Author,
  id: Uuid | undefined,
): Promise<void> {
  const row = await getDomain(sql, owner, id);
  try {
    const isNoticed = await sql.begin(async (transaction) => {
      const locked = await lockDomain(transaction, owner, row.id);
      const hadNotice = locked !== undefined && hasNotice(locked);
      if (hadNotice) await enqueueRemoval(transaction, locked);
      await deleteDomain(transaction, row.id);
      if (locked !== undefined)
        await recordEvents(transaction, owner, [domainEvent("domain.deleted", locked)]);
      return hadNotice;
    });
    if (isNoticed) await publisher.publish();
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
    throw new ApiError("domain_in_use", `${row.host} still has links. Delete them first.`);
  }
}

/**
 * Finds the owner's verified domain of that name; throws `invalid_request` when there is none.
 */
async function requireVerified(
  sql: Sql,
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

const invalidDomain = (problem: string): ApiError => invalidField("domain", problem);
