/** The operations of owners on their shares. */
import type { Scope } from "../../shared/contracts/key-schemas.ts";
import { decodeId, type Uuid } from "../../shared/ids.ts";
import { parseZone } from "../analytics/period.ts";
import { changesBetween } from "../events/changes.ts";
import { passwordChange } from "../events/password.ts";
import { type NewEvent, recordEvents, toJson } from "../events/record.ts";
import { futureInstant } from "../http/common-schemas.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { type ListPart, type ListRequest, readPart } from "../http/pagination.ts";
import type { AccountScope, Author, Principal, Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { LinkService } from "../links/service.ts";
import { countOwned, lockAndCountOwned, requireFound } from "../owned-rows.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import { isForeignKeyViolation, type Sql } from "../postgres.ts";
import { createToken } from "../url-tokens.ts";
import {
  type CreateShareBody,
  type ShareFields,
  type ShareRow,
  toShareResponse,
  type UpdateShareBody,
} from "./model.ts";
import {
  deleteShare,
  findShare,
  insertShare,
  listShares,
  lockShare,
  replaceToken,
  updateShare,
} from "./sql.ts";

type ShareServiceDeps = {
  sql: Sql;
  links: Pick<LinkService, "get">;
  passwords: PasswordHashing;
};

export type ShareService = ReturnType<typeof createShareService>;

/** Maximum shares of an account and mode: far more than people manage by hand. */
const SHARES_MAX = 1_000;

/** The caller who creates or changes a share. */
type ShareCaller = Writer & Pick<Principal, "scopes">;

const DEFAULTS: ShareFields = {
  name: null,
  password_hash: null,
  breakdowns: ["country", "device", "referrer"],
  timezone: "UTC",
  embed_origins: [],
  expires_at: null,
};

export function createShareService({ sql, links, passwords }: ShareServiceDeps) {
  /**
   * Shares the statistics of a link, or of all links without one. Only this function returns the
   * token. Throws `forbidden` to a caller who may not read the shared data, `not_found`,
   * `invalid_request` and `quota_exceeded`.
   */
  async function create(
    owner: ShareCaller,
    id: Uuid,
    { link_id, ...body }: CreateShareBody,
  ): Promise<{ row: ShareRow; token: string }> {
    requireReader(owner, link_id);
    const link =
      typeof link_id === "string" ? await links.get(owner, decodeId("link", link_id)) : null;
    const fields = { ...DEFAULTS, ...(await prepareFields(passwords, owner, body)) };
    const { token, hash: token_hash } = createToken();
    const share = { ...fields, id, link_id: link?.id ?? null, token_hash };
    try {
      const row = await sql.begin(async (transaction) => {
        if ((await lockAndCountOwned(transaction, owner, "shares")) >= SHARES_MAX) throw tooMany();
        const { created, ...inserted } = await insertShare(transaction, owner, share);
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

  /** Finds one of the owner's shares; throws `not_found`. */
  const get = (owner: AccountScope, id: Uuid | undefined) => getShare(sql, owner, id);

  /**
   * Changes the fields in the body; throws as {@link get}, `forbidden` as {@link create}, and
   * `invalid_request`.
   */
  async function update(
    owner: ShareCaller,
    id: Uuid | undefined,
    body: UpdateShareBody,
  ): Promise<ShareRow> {
    const row = await get(owner, id);
    requireReader(owner, row.link_id);
    const change = await prepareFields(passwords, owner, body);
    if (Object.keys(change).length === 0) return row;
    return await sql.begin(async (transaction) => {
      const old = requireShare(await lockShare(transaction, owner, row.id));
      const changed = requireShare(await updateShare(transaction, owner, row.id, change));
      const changes = shareChanges(old, changed);
      if (Object.keys(changes).length > 0)
        await recordEvents(transaction, owner, [shareEvent("share.updated", changed, changes)]);
      return changed;
    });
  }

  /** Revokes a share permanently, from the next request on; throws as {@link get}. */
  async function revoke(owner: Author, id: Uuid | undefined): Promise<void> {
    await sql.begin(async (transaction) => {
      const row = id === undefined ? undefined : await deleteShare(transaction, owner, id);
      const event = shareEvent("share.revoked", requireShare(row));
      await recordEvents(transaction, owner, [event]);
    });
  }

  return {
    create,
    get,
    update,
    rotate: (owner: ShareCaller, id: Uuid | undefined) => rotateShare(sql, owner, id),
    revoke,
    /** Lists the owner's shares, newest first. */
    list: (owner: AccountScope, request: ListRequest): Promise<ListPart<ShareRow>> =>
      readPart(
        request,
        (limit, start) => listShares(sql, owner, limit, start),
        () => countOwned(sql, owner, "shares"),
      ),
  };
}

/**
 * Converts the fields of a request. Throws `invalid_request`, `rate_limited` when nothing is left
 * of the account's budget of passwords, and `unavailable` when too many of them wait.
 */
async function prepareFields(
  passwords: ShareServiceDeps["passwords"],
  owner: Writer,
  { name, breakdowns, timezone, password, embed_origins, expires_at }: UpdateShareBody,
): Promise<Partial<ShareFields>> {
  const change: Partial<ShareFields> = {};
  if (name !== undefined) change.name = name;
  if (breakdowns !== undefined) change.breakdowns = breakdowns;
  if (timezone !== undefined) change.timezone = parseZone(timezone);
  if (embed_origins !== undefined) change.embed_origins = embed_origins;
  if (expires_at !== undefined)
    change.expires_at = futureInstant("expires_at", expires_at, new Date());
  if (password === null) change.password_hash = null;
  else if (password !== undefined) {
    budgets.take(owner, "link_passwords", 1);
    change.password_hash = await passwords.hashForLink(owner.accountId, password);
  }
  return change;
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

/** What the ledger says of a share: without its token, which the database does not know. */
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

/**
 * Gives a share another token, which only this function and the creation return; the one before
 * stops working at once. Throws `not_found`, and `forbidden` to a caller who may not read what is
 * shared.
 */
async function rotateShare(
  sql: Sql,
  owner: ShareCaller,
  id: Uuid | undefined,
): Promise<{ row: ShareRow; token: string }> {
  const share = await getShare(sql, owner, id);
  requireReader(owner, share.link_id);
  const { token, hash } = createToken();
  const row = await sql.begin(async (transaction) => {
    const rotated = requireShare(await replaceToken(transaction, owner, share.id, hash));
    const changes = { token: { before: "old", after: "new" } };
    await recordEvents(transaction, owner, [shareEvent("share.updated", rotated, changes)]);
    return rotated;
  });
  return { row, token };
}

async function getShare(sql: Sql, owner: AccountScope, id: Uuid | undefined): Promise<ShareRow> {
  const row = id === undefined ? undefined : await findShare(sql, owner, id);
  return await requireFound(row, sql, owner, { table: "shares", id });
}

function requireShare(row: ShareRow | undefined): ShareRow {
  if (row === undefined) throw notFound("share");
  return row;
}

const tooMany = (): ApiError =>
  new ApiError(
    "quota_exceeded",
    `The account has ${SHARES_MAX} shares already. Revoke one of them first.`,
  );
