/** The operations on custom domains. */
import { randomBytes } from "node:crypto";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { isForeignKeyViolation, isUniqueViolation, type Sql } from "../postgres.ts";
import type { ReadTxt } from "./dns.ts";
import { parseDomain } from "./host.ts";
import { type DomainRow, verificationName } from "./model.ts";
import {
  deleteDomain,
  findDomain,
  findVerifiedHost,
  insertDomain,
  listDomains,
  markVerified,
} from "./sql.ts";

type DomainServiceDeps = {
  sql: Sql;
  readTxt: ReadTxt;
  /** Host names of the service's own short domain. */
  ownHosts: ReadonlySet<string>;
};

export type DomainService = ReturnType<typeof createDomainService>;

export function createDomainService({ sql, readTxt, ownHosts }: DomainServiceDeps) {
  /**
   * Adds a pending domain. Throws `invalid_request`, `quota_exceeded`, and `domain_taken` when any account
   * has verified it or the owner has added it already under another id.
   */
  async function create(owner: AccountScope, id: Uuid, text: string): Promise<DomainRow> {
    const parsed = parseDomain(text);
    if ("problem" in parsed) throw invalidDomain(parsed.problem);
    const { host } = parsed;
    if (ownHosts.has(host)) throw invalidDomain("is the service's own");
    if ((await findVerifiedHost(sql, host)) !== undefined) throw domainTaken(host);
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
   * Looks up the TXT record and marks the domain as verified if it matches; a verified domain stays verified.
   * Throws `not_found`, `domain_taken`, and `unavailable` when DNS fails.
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
      return { row: (await markVerified(sql, row.id)) ?? row, problem: null };
    } catch (error) {
      throw isUniqueViolation(error, "domains_verified_host") ? domainTaken(row.host) : error;
    }
  }

  /** Removes a domain; throws `not_found`, and `domain_in_use` while it has links. */
  async function remove(owner: AccountScope, id: Uuid | undefined): Promise<void> {
    const row = await get(owner, id);
    try {
      await deleteDomain(sql, row.id);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new ApiError("domain_in_use", `${row.host} still has links. Delete them first.`);
    }
  }

  /** Finds the owner's verified domain of that name; throws `invalid_request` when there is none. */
  async function requireVerified(
    owner: AccountScope,
    text: string,
  ): Promise<{ id: Uuid; host: string }> {
    const parsed = parseDomain(text);
    const host = "host" in parsed ? parsed.host : "";
    const found = host === "" ? undefined : await findVerifiedHost(sql, host);
    if (found?.accountId !== owner.accountId || found.mode !== owner.mode) {
      throw invalidDomain("must be a verified domain of the account");
    }
    return { id: found.id, host };
  }

  return {
    create,
    get,
    verify,
    remove,
    requireVerified,
    /** Returns a page of the owner's domains, newest first, and their total. */
    list: (owner: AccountScope, page: number, limit: number) =>
      listDomains(sql, owner, limit, (page - 1) * limit),
    /** Whether a host is a verified domain of any account, so that short links are served on it. */
    isCustom: async (host: string): Promise<boolean> =>
      (await findVerifiedHost(sql, host)) !== undefined,
  };
}

const invalidDomain = (problem: string): ApiError =>
  new ApiError("invalid_request", `Invalid value for "domain": ${problem}.`);

const domainTaken = (host: string): ApiError =>
  new ApiError("domain_taken", `${host} has been verified by an account already.`);
