/** What can be done with custom domains. */
import { randomBytes } from "node:crypto";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { isForeignKeyViolation, isUniqueViolation, type Sql } from "../postgres.ts";
import type { ReadTxt } from "./dns.ts";
import { parseDomain } from "./host.ts";
import { type DomainRow, proofName } from "./model.ts";
import {
  deleteDomain,
  findDomain,
  findVerifiedHost,
  insertDomain,
  listDomains,
  markVerified,
  type Owner,
} from "./sql.ts";

type DomainServiceDeps = {
  sql: Sql;
  readTxt: ReadTxt;
  /** Hosts of the service's own short domain. */
  ownHosts: ReadonlySet<string>;
};

export type DomainService = ReturnType<typeof createDomainService>;

export function createDomainService({ sql, readTxt, ownHosts }: DomainServiceDeps) {
  /**
   * Adds a domain, to be verified. Throws `invalid_request`, and `domain_taken` when it is verified by
   * whomever, or the owner has added it already under another id.
   */
  async function create(owner: Owner, id: Uuid, text: string): Promise<DomainRow> {
    const parsed = parseDomain(text);
    if ("problem" in parsed) throw invalidDomain(parsed.problem);
    const { host } = parsed;
    if (ownHosts.has(host)) throw invalidDomain("is the service's own");
    if ((await findVerifiedHost(sql, host)) !== undefined) throw taken(host);
    const verificationValue = `shorthop-verification=${randomBytes(20).toString("hex")}`;
    try {
      return await insertDomain(sql, { ...owner, id, host, verificationValue });
    } catch (error) {
      const own = await findDomain(sql, owner, id);
      if (own !== undefined) return own;
      if (!isUniqueViolation(error, "domains_by_account")) throw error;
      throw new ApiError("domain_taken", `The account has added ${host} already.`);
    }
  }

  /** Finds one of the owner's domains; throws `not_found`. */
  async function get(owner: Owner, id: Uuid | undefined): Promise<DomainRow> {
    const row = id === undefined ? undefined : await findDomain(sql, owner, id);
    if (row === undefined) throw notFound("domain");
    return row;
  }

  /**
   * Looks for the proof in DNS now. A domain that was verified stays so. Throws `not_found`,
   * `domain_taken`, and `unavailable` when DNS does not answer.
   */
  async function verify(
    owner: Owner,
    id: Uuid | undefined,
  ): Promise<{ row: DomainRow; problem: string | null }> {
    const row = await get(owner, id);
    if (row.verified_at !== null) return { row, problem: null };
    const name = proofName(row.host);
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
      throw isUniqueViolation(error, "domains_verified_host") ? taken(row.host) : error;
    }
  }

  /** Removes a domain; throws `not_found`, and `domain_in_use` while it has links. */
  async function remove(owner: Owner, id: Uuid | undefined): Promise<void> {
    const row = await get(owner, id);
    try {
      await deleteDomain(sql, row.id);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new ApiError("domain_in_use", `${row.host} still has links. Delete them first.`);
    }
  }

  /** The owner's verified domain of that name; throws `invalid_request` when there is none. */
  async function requireVerified(owner: Owner, text: string): Promise<{ id: Uuid; host: string }> {
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
    /** A page of the owner's domains, newest first, and how many there are. */
    list: (owner: Owner, page: number, limit: number) =>
      listDomains(sql, owner, limit, (page - 1) * limit),
    /** Whether short links are served at a host because somebody has verified it. */
    isCustom: async (host: string): Promise<boolean> =>
      (await findVerifiedHost(sql, host)) !== undefined,
  };
}

const invalidDomain = (why: string): ApiError =>
  new ApiError("invalid_request", `Invalid value for "domain": ${why}.`);

const taken = (host: string): ApiError =>
  new ApiError("domain_taken", `${host} has been verified by an account already.`);
