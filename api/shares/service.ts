/** The operations of owners on their shares. */
import type { Scope } from "../../shared/contracts/key-schemas.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";
import { parseZone } from "../analytics/period.ts";
import { newToken } from "../auth/api-key.ts";
import {
  changesBetween,
  type NewEvent,
  passwordChange,
  recordEvents,
  toJson,
} from "../events/record.ts";
import { futureInstant, presentFields } from "../http/common-schemas.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { LinkService } from "../links/service.ts";
import { OwnedRows, OwnedService } from "../owned-rows.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import { isForeignKeyViolation, type Sql, type Transaction } from "../postgres.ts";
import {
  type NewShareBody,
  type ShareFields,
  type ShareRow,
  toShareResponse,
  type UpdateShareBody,
} from "./model.ts";

/** Maximum shares of an account and mode: far more than people manage by hand. */
const SHARES_MAX = 1_000;

/** The caller who creates or changes a share. */
type ShareCaller = Writer & { scopes: readonly string[] };

const DEFAULTS: ShareFields = {
  name: null,
  password_hash: null,
  breakdowns: ["country", "device", "referrer"],
  timezone: "UTC",
  embed_origins: [],
  expires_at: null,
};

export const shareColumns = (sql: Sql | Transaction) => sql`
  id, link_id, name, password_hash, breakdowns, timezone, embed_origins, expires_at, created_at, updated_at`;

const shareRows = new OwnedRows<ShareRow>("shares", shareColumns);

export class ShareService extends OwnedService<ShareRow> {
  readonly #sql: Sql;
  readonly #links: LinkService;
  readonly #passwords: PasswordHashing;

  constructor(sql: Sql, links: LinkService, passwords: PasswordHashing) {
    super(sql, shareRows);
    this.#sql = sql;
    this.#links = links;
    this.#passwords = passwords;
  }

  /**
   * Shares the statistics of a link, or of all links if none is named. Only this function returns
   * the token. Throws `forbidden` to a caller who may not read the shared data, `not_found`,
   * `invalid_request` and `quota_exceeded`.
   */
  async create(
    owner: ShareCaller,
    id: Uuid,
    { link_id, ...body }: NewShareBody,
  ): Promise<{ row: ShareRow; token: string }> {
    requireReader(owner, link_id);
    const link =
      typeof link_id === "string" ? await this.#links.find(owner, decodeId("link", link_id)) : null;
    const fields = { ...DEFAULTS, ...(await this.#readFields(owner, body)) };
    const { token, hash: token_hash } = newToken();
    try {
      const row = await this.#sql.begin(async (transaction) => {
        await shareRows.requireRoom(transaction, owner, SHARES_MAX, "Revoke");
        // An earlier attempt of the same request may have inserted it, with another token.
        const [{ created, ...inserted }] = await transaction<[ShareRow & { created: boolean }]>`
          insert into shares (id, account_id, mode, link_id, name, token_hash, password_hash, breakdowns, timezone,
                              embed_origins, expires_at)
          values (${id}, ${owner.accountId}, ${owner.mode}, ${link?.id ?? null}, ${fields.name}, ${token_hash},
                  ${fields.password_hash}, ${[...fields.breakdowns]}::text[], ${fields.timezone},
                  ${[...fields.embed_origins]}::text[], ${fields.expires_at})
          on conflict (id) do update set token_hash = excluded.token_hash
          returning ${shareColumns(transaction)}, xmax = 0 as created`;
        if (created)
          await recordEvents(transaction, owner, [shareEvent("share.created", inserted)]);
        return inserted;
      });
      return { row, token };
    } catch (error) {
      // The link has been deleted meanwhile.
      throw isForeignKeyViolation(error) ? notFound("link") : error;
    }
  }

  /**
   * Changes the fields in the body; throws as `get`, `forbidden` as `create`, and
   * `invalid_request`.
   */
  async update(owner: ShareCaller, id: Uuid | undefined, body: UpdateShareBody): Promise<ShareRow> {
    const row = await this.get(owner, id);
    requireReader(owner, row.link_id);
    const change = await this.#readFields(owner, body);
    if (Object.keys(change).length === 0) return row;
    return await this.#sql.begin(async (transaction) => {
      const old = await shareRows.lock(transaction, owner, row.id);
      const changed = await updateShare(transaction, owner, row.id, change);
      const changes = shareChanges(old, changed);
      if (Object.keys(changes).length > 0)
        await recordEvents(transaction, owner, [shareEvent("share.updated", changed, changes)]);
      return changed;
    });
  }

  /**
   * Gives a share another token, which only this function and `create` return; the one before stops
   * working at once. Throws as `get`, and `forbidden` as `create`.
   */
  async rotate(
    owner: ShareCaller,
    id: Uuid | undefined,
  ): Promise<{ row: ShareRow; token: string }> {
    const share = await this.get(owner, id);
    requireReader(owner, share.link_id);
    const { token, hash } = newToken();
    const row = await this.#sql.begin(async (transaction) => {
      const change = { token_hash: hash };
      const rotated = await updateShare(transaction, owner, share.id, change);
      const changes = { token: { before: "old", after: "new" } };
      await recordEvents(transaction, owner, [shareEvent("share.updated", rotated, changes)]);
      return rotated;
    });
    return { row, token };
  }

  /** Revokes a share permanently, from the next request on; throws as `get`. */
  async revoke(owner: Author, id: Uuid | undefined): Promise<void> {
    await this.#sql.begin(async (transaction) => {
      const row = await shareRows.delete(transaction, owner, id);
      await recordEvents(transaction, owner, [shareEvent("share.revoked", row)]);
    });
  }

  /**
   * Converts the fields of a request. Throws `invalid_request`, `rate_limited` when nothing is left
   * of the account's budget of passwords, and `unavailable` when too many of them wait.
   */
  async #readFields(
    owner: Writer,
    { timezone, password, expires_at, ...fields }: UpdateShareBody,
  ): Promise<Partial<ShareFields>> {
    const change = presentFields({
      ...fields,
      timezone: timezone === undefined ? undefined : parseZone(timezone),
      expires_at:
        expires_at === undefined ? undefined : futureInstant("expires_at", expires_at, new Date()),
    });
    if (password === undefined) return change;
    if (password === null) return { ...change, password_hash: null };
    budgets.take(owner, "link_passwords", 1);
    const password_hash = await this.#passwords.hashForLink(owner.accountId, password);
    return { ...change, password_hash };
  }
}

/** Changes one of the owner's shares; throws `not_found`. */
async function updateShare(
  sql: Transaction,
  owner: AccountScope,
  id: Uuid,
  change: Partial<ShareFields & { token_hash: Buffer }>,
): Promise<ShareRow> {
  const [row] = await sql<ShareRow[]>`
    update shares set ${sql({ ...change, updated_at: new Date() })}
     where id = ${id} and account_id = ${owner.accountId} and mode = ${owner.mode}
    returning ${shareColumns(sql)}`;
  return await shareRows.require(row, sql, owner, id);
}

/**
 * Throws `forbidden` unless the caller may read the data that a share shows: statistics, and a
 * link's short URL.
 */
function requireReader({ scopes }: ShareCaller, linkId: string | null | undefined): void {
  const needed = typeof linkId === "string" ? READ_OF_LINK : READ_OF_ACCOUNT;
  const missing = needed.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return;
  throw new ApiError(
    "forbidden",
    `Nobody can share what they may not read: the scope ${missing.join(" and ")} is missing.`,
  );
}

const READ_OF_ACCOUNT = ["analytics:read"] as const satisfies readonly Scope[];

const READ_OF_LINK = ["analytics:read", "links:read"] as const satisfies readonly Scope[];

/** An event of a share, without its token, which the database does not know. */
const shareEvent = (
  type: "share.created" | "share.updated" | "share.revoked",
  row: ShareRow,
  changes?: Readonly<Record<string, unknown>>,
): NewEvent => ({
  type,
  objectId: row.id,
  ...(row.link_id === null ? {} : { linkId: row.link_id }),
  data: toJson({ share: toShareResponse(row), ...(changes === undefined ? {} : { changes }) }),
});

/** A change of the password only says that there was one and is one. */
const shareChanges = (old: ShareRow, row: ShareRow) => ({
  ...changesBetween(toShareResponse(old), toShareResponse(row), ["updated_at", "has_password"]),
  ...passwordChange(old, row),
});
