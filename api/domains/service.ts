/** The operations on custom domains. */
import { randomBytes } from "node:crypto";

import { CoalescedCalls } from "../../shared/coalesced-calls.ts";
import type { ChangeDomainBody } from "../../shared/contracts/domain-settings.ts";
import type { Uuid } from "../../shared/ids.ts";
import { changesBetween, recordEvents, toJson } from "../events/record.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { type Claim, requireClaimed } from "../limits/quotas.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import { OwnedService } from "../owned-rows.ts";
import {
  isForeignKeyViolation,
  isStorable,
  isUniqueViolation,
  type Sql,
  type Transaction,
} from "../postgres.ts";
import {
  domainEvent,
  domainFields,
  type DomainRow,
  mergeDomainSettings,
  parseDomain,
  prepareDomainSettings,
} from "./model.ts";
import { domainColumns, domainRows, enqueueNotice, enqueueRemoval, hasNotice } from "./notices.ts";
import { switchCase } from "./republishing.ts";
import {
  checkProofs,
  domainTaken,
  isStale,
  type ReadTxt,
  type Verification,
  verifyDomain,
} from "./verification.ts";

export class DomainService extends OwnedService<DomainRow> {
  readonly #sql: Sql;
  readonly #publisher: LinksPublisher;
  readonly #readTxt: ReadTxt;
  readonly #ownHosts: ReadonlySet<string>;
  readonly #checkDestination: (url: string) => Promise<string>;
  /** Hosts that are asked for at once are looked up together, as those of a link's many URLs. */
  readonly #verified: CoalescedCalls<string, ReadonlyMap<string, VerifiedHost>>;

  /**
   * `ownHosts` are those of the service's own short domain. `checkDestination` returns a URL
   * unchanged if a link may redirect to it, and throws `invalid_url` otherwise.
   */
  constructor(
    sql: Sql,
    publisher: LinksPublisher,
    readTxt: ReadTxt,
    ownHosts: ReadonlySet<string>,
    checkDestination: (url: string) => Promise<string>,
  ) {
    super(sql, domainRows);
    this.#sql = sql;
    this.#publisher = publisher;
    this.#readTxt = readTxt;
    this.#ownHosts = ownHosts;
    this.#checkDestination = checkDestination;
    this.#verified = new CoalescedCalls((hosts) => findVerifiedHosts(sql, hosts));
  }

  /**
   * Adds a pending domain. Throws `invalid_request`, `quota_exceeded`, and `domain_taken` when any
   * account has verified it or the owner has already added it under another id.
   */
  async create(owner: Author, id: Uuid, text: string): Promise<DomainRow> {
    const parsed = parseDomain(text);
    if ("problem" in parsed) throw invalidDomain(parsed.problem);
    const { host } = parsed;
    if (this.#ownHosts.has(host)) throw invalidDomain("is the service's own");
    const holder = await this.#findVerified(host);
    if (holder !== undefined && !isStale(holder.missingSince)) throw domainTaken(host);
    const verificationValue = `shorthop-verification=${randomBytes(20).toString("hex")}`;
    try {
      return await this.#sql.begin(async (transaction) => {
        const row = await insertDomain(transaction, { ...owner, id, host, verificationValue });
        await recordEvents(transaction, owner, [domainEvent("domain.created", row)]);
        return row;
      });
    } catch (error) {
      // An earlier attempt of the same request may have committed the domain.
      const existing = await domainRows.find(this.#sql, owner, id);
      if (existing !== undefined) return existing;
      if (!isUniqueViolation(error, "domains_by_account")) throw error;
      throw new ApiError("domain_taken", `The account has added ${host} already.`);
    }
  }

  /** Verifies one of the owner's domains: see `verification.ts`. Throws also `not_found`. */
  async verify(owner: Author, id: Uuid | undefined): Promise<Verification> {
    const row = await this.get(owner, id);
    const verification = await verifyDomain(this.#sql, this.#readTxt, owner, row);
    if (verification.isNoticed) await this.#publisher.publish();
    return verification;
  }

  /**
   * Changes the settings of a verified domain and publishes them to the redirectors. `propagated`
   * is false when the tail was unreachable. Throws `not_found`, `invalid_url`, `invalid_request`,
   * `aliases_collide`, `conflict` while the domain is already switching, and `rate_limited` when
   * the account has no links left that it may change at once.
   */
  async update(
    owner: Writer,
    id: Uuid | undefined,
    body: ChangeDomainBody,
  ): Promise<{ row: DomainRow; propagated: boolean }> {
    if (id === undefined) throw notFound("domain");
    const change = await prepareDomainSettings(body, (field, url) => this.#checkUrl(field, url));
    const { row, isChanged } = await this.#sql.begin(async (transaction) => {
      const old = await domainRows.lock(transaction, owner, id);
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
      const { settings, case_sensitive, switching } = changed;
      await transaction`
        update domains
           set settings = ${settings === null ? null : transaction.json(toJson(settings))}::jsonb,
               case_sensitive = ${case_sensitive}, switching = ${switching}
         where id = ${id}`;
      const changes = changesBetween(domainFields(old), domainFields(changed));
      await recordEvents(transaction, owner, [domainEvent("domain.updated", changed, changes)]);
      await enqueueNotice(transaction, changed);
      return { row: changed, isChanged: true };
    });
    return { row, propagated: !isChanged || (await this.#publisher.publish()) };
  }

  /** Returns a URL unchanged after the checks that every destination must pass. */
  async #checkUrl(field: string, url: string): Promise<string> {
    try {
      return await this.#checkDestination(url);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "invalid_url") throw error;
      const message = `Invalid value for "${field}": ${error.message}`;
      throw new ApiError("invalid_url", message, { param: field });
    }
  }

  /** Removes a domain; throws `not_found`, and `domain_in_use` while it has links. */
  async remove(owner: Author, id: Uuid | undefined): Promise<void> {
    const row = await this.get(owner, id);
    try {
      const isNoticed = await this.#sql.begin(async (transaction) => {
        const locked = await domainRows.find(transaction, owner, row.id, true);
        const hadNotice = locked !== undefined && hasNotice(locked);
        if (hadNotice) await enqueueRemoval(transaction, locked);
        await transaction`delete from domains where id = ${row.id}`;
        if (locked !== undefined)
          await recordEvents(transaction, owner, [domainEvent("domain.deleted", locked)]);
        return hadNotice;
      });
      if (isNoticed) await this.#publisher.publish();
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new ApiError("domain_in_use", `${row.host} still has links. Delete them first.`);
    }
  }

  /**
   * Finds the owner's verified domain of that name; throws `invalid_request` when there is none.
   */
  async requireVerified(owner: AccountScope, text: string): Promise<OwnDomain> {
    const parsed = parseDomain(text);
    const host = "host" in parsed ? parsed.host : "";
    const found = host === "" ? undefined : await this.#findVerified(host);
    if (found?.accountId !== owner.accountId || found.mode !== owner.mode) {
      throw invalidDomain("must be a verified domain of the account");
    }
    return { id: found.id, host, caseSensitive: found.caseSensitive };
  }

  /** Lists the owner's verified domains, which a quota bounds, and when each was verified. */
  listVerified({ accountId, mode }: AccountScope): Promise<{ host: string; verifiedAt: Date }[]> {
    return this.#sql<{ host: string; verifiedAt: Date }[]>`
      select host, verified_at as "verifiedAt" from domains
       where account_id = ${accountId} and mode = ${mode} and verified_at is not null`;
  }

  /**
   * Returns the owner's domains among the hosts, verified or not, and up to `othersMax` of the
   * owner's other domains.
   */
  async findHosts(
    { accountId, mode }: AccountScope,
    preferred: readonly string[],
    othersMax: number,
  ): Promise<{ known: string[]; others: string[] }> {
    const rows = await this.#sql<{ host: string }[]>`
      select host from domains
       where account_id = ${accountId} and mode = ${mode}
       order by host = any (${[...preferred]}::text[]) desc, host
       limit ${preferred.length + othersMax}`;
    const hosts = rows.map(({ host }) => host);
    const known = hosts.filter((host) => preferred.includes(host));
    return { known, others: hosts.slice(known.length, known.length + othersMax) };
  }

  /** Whether a host is a verified domain of any account, which means that it serves short links. */
  async isCustom(host: string): Promise<boolean> {
    return (await this.#findVerified(host)) !== undefined;
  }

  async #findVerified(host: string): Promise<VerifiedHost | undefined> {
    // A text that PostgreSQL refuses would fail for all who share the query.
    if (!isStorable(host)) return undefined;
    return (await this.#verified.run(host)).get(host);
  }

  /** Looks up proofs that are due, at most `limit`. Returns how many were due. */
  checkProofs(limit: number): Promise<number> {
    return checkProofs(this.#sql, this.#readTxt, limit);
  }
}

/** A verified domain of an account. */
export type OwnDomain = { id: Uuid; host: string; caseSensitive: boolean };

const invalidDomain = (problem: string): ApiError => invalidField("domain", problem);

type NewDomain = AccountScope & { id: Uuid; host: string; verificationValue: string };

/**
 * Inserts a pending domain. A domain that the owner already has violates `domains_by_account`.
 * Throws `quota_exceeded` when the account has reached its maximum.
 */
async function insertDomain(sql: Transaction, domain: NewDomain): Promise<DomainRow> {
  const [{ granted, allowed, ...row }] = await sql<[Claim & DomainRow]>`
    with quota as materialized (
      select granted, allowed from claim_quota(${domain.accountId}, ${domain.mode}, 'domains')
    ), inserted as (
      insert into domains (id, account_id, mode, host, verification_value)
      select ${domain.id}, ${domain.accountId}, ${domain.mode}, ${domain.host}, ${domain.verificationValue}
        from quota where granted
      returning ${domainColumns(sql)}
    )
    select quota.*, inserted.* from quota left join inserted on true`;
  requireClaimed("domains", { granted, allowed });
  return row;
}

type VerifiedHost = AccountScope & {
  id: Uuid;
  host: string;
  caseSensitive: boolean;
  missingSince: Date | null;
};

/** Finds the verified domains among hosts, of any account, by the index `domains_verified_host`. */
async function findVerifiedHosts(
  sql: Sql,
  hosts: readonly [string, ...string[]],
): Promise<ReadonlyMap<string, VerifiedHost>> {
  const distinct = [...new Set(hosts)];
  // A single host is compared, so that its plan is reused.
  const isOneOf =
    distinct.length === 1 ? sql`host = ${hosts[0]}` : sql`host = any (${distinct}::text[])`;
  const rows = await sql<VerifiedHost[]>`
    select id, host, account_id as "accountId", mode, case_sensitive as "caseSensitive",
           missing_since as "missingSince" from domains
     where ${isOneOf} and verified_at is not null`;
  return new Map(rows.map((row) => [row.host, row]));
}
