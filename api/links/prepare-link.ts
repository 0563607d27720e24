/** Validates requests that create and update links, and turns them into rows. */
import type * as z from "zod";

import { ALIAS_BYTES_MAX } from "../../shared/contracts/alias.ts";
import { updateLinkBody } from "../../shared/contracts/link-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { DomainService } from "../domains/service.ts";
import { actorJson } from "../events/record.ts";
import { futureInstant, presentFields } from "../http/common-schemas.ts";
import { checkAll, invalidField } from "../http/errors.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import { type DestinationRules, requireDestination } from "./destinations.ts";
import {
  type CreateLinkBody,
  type LinkRow,
  type ManyChangeBody,
  type NewLink,
  toTextColumns,
  type UpdateLinkBody,
  type UpsertLinkBody,
} from "./model.ts";
import { requireAlias } from "./names.ts";
import { sizeProblem } from "./record.ts";
import { type Creation, type Failure, prepareAll, type Update } from "./results.ts";
import {
  changeSettings,
  prepareSettings,
  type SettingsChange,
  withoutSettings,
} from "./settings.ts";
import { toHost } from "./short-url.ts";

type PreparedLink = Omit<NewLink, "alias">;

/** A validated link with the request for it. */
export type PreparedCreation = { body: CreateLinkBody; link: PreparedLink };

/**
 * A validated change of a link: columns to set, and settings, which are merged with its current
 * ones.
 */
export type LinkChange = { columns: Partial<LinkRow>; settings: SettingsChange };

/**
 * Prepares the rows of requests: a row fails with `invalid_url`, `invalid_alias` or
 * `invalid_request`, and with `QueueFull` when too many passwords wait to be hashed.
 */
export class LinkPreparation {
  readonly #domains: DomainService;
  readonly #rules: DestinationRules;
  readonly #passwords: PasswordHashing;

  constructor(domains: DomainService, rules: DestinationRules, passwords: PasswordHashing) {
    this.#domains = domains;
    this.#rules = rules;
    this.#passwords = passwords;
  }

  /**
   * Prepares links to create. To be `checked` only, they get no hashes of their passwords, which
   * cost most of a creation.
   */
  async prepareLinks(
    owner: Author,
    creations: readonly (Creation | Failure)[],
    purpose: "created" | "checked",
  ): Promise<(PreparedCreation | Failure)[]> {
    return await prepareAll(creations, async ({ id, body }) => {
      const link = await this.#prepareLink(owner, id, body);
      // Last, because hashing is the only costly step.
      if (purpose === "created") link.password_hash = await this.#hash(owner, body.password);
      // Checked here, so that of several links only this one fails.
      const problem = sizeProblem({ ...link, alias: body.alias ?? LONGEST_ALIAS });
      if (problem !== undefined) throw problem;
      return { body, link };
    });
  }

  async prepareChanges(
    owner: AccountScope,
    updates: readonly (Update | Failure)[],
  ): Promise<((Update & { change: LinkChange }) | Failure)[]> {
    return await prepareAll(updates, async (update) => {
      const change = await this.#prepareChange(owner, update.body);
      const { password } = update.body;
      // Last, because hashing is the only costly step.
      if (password !== undefined) change.columns.password_hash = await this.#hash(owner, password);
      return { ...update, change };
    });
  }

  /** Throws `invalid_request` for a domain that the owner's links cannot have at present. */
  async requireDomain(owner: AccountScope, { domain }: CreateLinkBody): Promise<void> {
    await findDomainColumns(this.#domains, owner, toCustomDomain(domain, this.#rules));
  }

  async #prepareLink(owner: Author, id: Uuid, body: CreateLinkBody): Promise<PreparedLink> {
    const created_at = new Date();
    const domain = toCustomDomain(body.domain, this.#rules);
    const [, domainColumns, destination, settings, expires_at] = await checkAll([
      () => (typeof body.alias === "string" ? requireAlias(body.alias, domain) : undefined),
      () => findDomainColumns(this.#domains, owner, domain),
      () => requireDestination(body.url, this.#rules, this.#domains),
      () => prepareSettings(body, this.#rules, this.#domains),
      () => readExpiry(body, created_at),
      () => requireOneSegment(body.alias, body.forward_path),
    ]);
    return {
      id,
      account_id: owner.accountId,
      mode: owner.mode,
      ...domainColumns,
      original_url: destination.original,
      target_url: destination.href,
      ...toTextColumns(body),
      created_by: actorJson(owner.actor).id ?? null,
      password_hash: null,
      expires_at,
      forward_query: body.forward_query ?? false,
      tags: body.tags ?? [],
      extras: changeSettings(null, settings),
      archived: body.archived ?? false,
      taken_down: false,
      created_at,
    };
  }

  async #prepareChange(owner: AccountScope, body: ManyChangeBody): Promise<LinkChange> {
    const { url, alias, password: _, expires_at, domain, ...rest } = withoutSettings(body);
    const [settings, destination, domainColumns, , expires] = await checkAll([
      () => prepareSettings(body, this.#rules, this.#domains),
      () => (url === undefined ? undefined : requireDestination(url, this.#rules, this.#domains)),
      () =>
        domain === undefined
          ? undefined
          : findDomainColumns(this.#domains, owner, toCustomDomain(domain, this.#rules)),
      // Its reserved words are refused by `applyChange`.
      () => (alias === undefined ? undefined : requireAlias(alias, "")),
      () => futureInstant("expires_at", expires_at, new Date()),
    ]);
    const columns = presentFields({
      ...rest,
      ...domainColumns,
      original_url: destination?.original,
      target_url: destination?.href,
      alias,
      expires_at: expires_at === undefined ? undefined : expires,
    });
    return { columns, settings };
  }

  async #hash(
    { accountId }: AccountScope,
    password: string | null | undefined,
  ): Promise<string | null> {
    return typeof password === "string"
      ? await this.#passwords.hashForLink(accountId, password)
      : null;
  }
}

/** The custom domain that a request names; null for the service's own, named or left out. */
function toCustomDomain(
  domain: string | null | undefined,
  { shortUrl, ownHosts }: DestinationRules,
): string | null {
  const host = typeof domain === "string" ? toHost(domain, shortUrl) : null;
  return host === null || ownHosts.has(host) ? null : host;
}

/**
 * The fields of a link by the custom domain that a request names, or the service's own for null.
 * Throws `invalid_request` for a domain that is no verified one of the owner.
 */
async function findDomainColumns(domains: DomainService, owner: AccountScope, name: string | null) {
  const domain = name === null ? null : await domains.requireVerified(owner, name);
  return {
    domain_id: domain?.id ?? null,
    domain_host: domain?.host ?? null,
    folded: domain?.caseSensitive === false,
    served: true,
  };
}

const LONGEST_ALIAS = "x".repeat(ALIAS_BYTES_MAX);

/** A path is forwarded by the link at its first segment, so a longer alias would forward none. */
function requireOneSegment(alias: string | null | undefined, forwardPath: unknown): void {
  if (typeof forwardPath === "string" && alias?.includes("/") === true)
    throw invalidField("forward_path", "needs an alias without a slash");
}

/** The expiry of a new link, which must be in the future, and after its start. */
function readExpiry({ expires_at, starts_at }: CreateLinkBody, now: Date): Date | null {
  const expires = futureInstant("expires_at", expires_at, now);
  requireExpiryAfterStart(starts_at, expires);
  return expires;
}

/** A link that expired before it started would never redirect, and nobody would know why. */
function requireExpiryAfterStart(startsAt: string | null | undefined, expiresAt: Date | null) {
  if (typeof startsAt !== "string" || expiresAt === null) return;
  if (expiresAt.getTime() <= Date.parse(startsAt))
    throw invalidField("expires_at", "must be after starts_at");
}

/**
 * The link after a change. Throws `invalid_alias`, and `invalid_request` if it lets it expire
 * before it starts. Records when the change sends a visitor to a different site, which the link's
 * about page shows.
 */
export function applyChange(old: LinkRow, { columns, settings }: LinkChange): LinkRow {
  const extras = changeSettings(old.extras, settings, old.clicks);
  const changed: LinkRow = { ...old, ...columns, extras };
  // While the case of its domain is being switched, the row says how the link is published.
  if (changed.domain_id === old.domain_id)
    ({ folded: changed.folded, served: changed.served } = old);
  // Which words are reserved depends on the domain.
  if (changed.alias !== old.alias || changed.domain_id !== old.domain_id)
    requireAlias(changed.alias, changed.domain_host);
  requireOneSegment(changed.alias, extras?.forward_path);
  if (columns.expires_at !== undefined || "starts_at" in settings)
    requireExpiryAfterStart(extras?.starts_at, changed.expires_at);
  return Bun.deepEquals(sitesOf(changed), sitesOf(old))
    ? changed
    : { ...changed, extras: { ...extras, host_changed_at: new Date().toISOString() } };
}

/**
 * The values that determine the site each visitor reaches: the hosts and, if there are several,
 * which visitors reach which. The values of two states of a link are deeply equal if every visitor
 * reaches the same site.
 */
function sitesOf({ target_url, extras }: LinkRow) {
  const own = hostOf(target_url);
  const rules = (extras?.rules ?? []).map(({ url, conditions }) => ({
    host: hostOf(url),
    conditions,
  }));
  const arms = (extras?.split?.arms ?? []).map(({ url, weight }) => ({
    host: hostOf(url),
    weight,
  }));
  const isOne = [...rules, ...arms].every(({ host }) => host === own);
  return isOne ? { own } : { own, rules, arms, until: extras?.split?.until };
}

const hostOf = (url: string): string => new URL(url).host;

/**
 * The update that replaces a link by the body of a request: what the body does not have is switched
 * off, but for the alias, which the link keeps. Throws `invalid_request` for another domain.
 */
export function replaceBy(
  { domain, alias, ...fields }: UpsertLinkBody,
  existing: LinkRow,
  rules: DestinationRules,
): UpdateLinkBody {
  if (typeof domain === "string" && toCustomDomain(domain, rules) !== existing.domain_host) {
    throw invalidField("domain", "cannot be changed");
  }
  return {
    ...NOTHING_SET,
    // As in a creation.
    ...(typeof fields.max_clicks === "number" ? { limit_counts: "human" as const } : {}),
    ...presentFields(fields),
    ...(typeof alias === "string" ? { alias } : {}),
  };
}

/** Fields of a body that name a link, and are no settings of it. */
const NAMES = new Set(["url", "alias", "external_id"]);

/** How a request says that a setting is off: the first of these that the setting takes. */
const OFF = [null, false, [], "all"];

/**
 * The values of fields that a request to replace a link leaves out. Of the schema, so that no
 * setting can be forgotten.
 */
const NOTHING_SET: UpdateLinkBody = updateLinkBody.parse(
  Object.fromEntries(
    Object.entries(updateLinkBody.shape)
      .filter(([name]) => !NAMES.has(name))
      .map(([name, setting]) => [name, offValueOf(name, setting)]),
  ),
);

function offValueOf(name: string, setting: z.ZodType): unknown {
  const off = OFF.find((value) => setting.safeParse(value).success);
  if (off === undefined) throw new Error(`No request switches ${name} off.`);
  return off;
}
