/** Validates requests that create and update links, and turns them into rows. */
import type { Uuid } from "../../shared/ids.ts";
import { actorJson } from "../events/record.ts";
import { futureInstant } from "../http/common-schemas.ts";
import { checkAll, invalidField } from "../http/errors.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import type { LinkServiceDeps } from "./deps.ts";
import {
  ALIAS_LENGTH_MAX,
  type CreateLinkBody,
  type LinkRow,
  type ManyChangeBody,
  type NewLink,
} from "./model.ts";
import { hashLinkPassword, type LinkPasswords } from "./passwords.ts";
import { sizeProblem } from "./record.ts";
import {
  changeSettings,
  prepareSettings,
  type SettingsChange,
  withoutSettings,
} from "./settings/change.ts";
import { sitesOf } from "./sites.ts";
import { type DestinationDeps, requireAlias, requireDestination } from "./validation.ts";

export type PreparationDeps = DestinationDeps & {
  passwords: LinkPasswords;
  domains: Pick<LinkServiceDeps["domains"], "requireVerified">;
};

/** A validated link, without its alias. */
export type PreparedLink = Omit<NewLink, "alias">;

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

/** An alias of maximum length. */
const LONGEST_ALIAS = "x".repeat(ALIAS_LENGTH_MAX);

/** The custom domain that a request names, or null for the service's own domain. */
export const resolveDomain = async (
  domains: Pick<LinkServiceDeps["domains"], "requireVerified">,
  owner: AccountScope,
  domain: string | null | undefined,
) => (typeof domain === "string" ? await domains.requireVerified(owner, domain) : null);

/** What a link has of its domain; null for the service's own. */
const placeOn = (domain: { id: Uuid; host: string; caseSensitive: boolean } | null) => ({
  domain_id: domain?.id ?? null,
  domain_host: domain?.host ?? null,
  folded: domain?.caseSensitive === false,
  served: true,
});

/**
 * Validates a request and builds the row. Throws `invalid_url`, `invalid_alias` and
 * `invalid_request`.
 */
export async function prepareLink(
  deps: PreparationDeps,
  owner: Author,
  id: Uuid,
  body: CreateLinkBody,
): Promise<PreparedLink> {
  const created_at = new Date();
  const [, domain, destination, settings, expires_at] = await checkAll([
    () =>
      typeof body.alias === "string" ? requireAlias(body.alias, body.domain ?? null) : undefined,
    () => resolveDomain(deps.domains, owner, body.domain),
    () => requireDestination(body.url, deps),
    () => prepareSettings(deps, body),
    () => readExpiry(body, created_at),
  ]);
  const link: PreparedLink = {
    id,
    account_id: owner.accountId,
    mode: owner.mode,
    ...placeOn(domain),
    original_url: destination.original,
    target_url: destination.href,
    title: body.title ?? null,
    notes: body.notes ?? null,
    created_by: actorJson(owner.actor).id ?? null,
    expires_at,
    utm_source: body.utm_source ?? null,
    utm_medium: body.utm_medium ?? null,
    utm_campaign: body.utm_campaign ?? null,
    utm_term: body.utm_term ?? null,
    utm_content: body.utm_content ?? null,
    forward_query: body.forward_query ?? false,
    tags: body.tags ?? [],
    external_id: body.external_id ?? null,
    extras: changeSettings(null, settings),
    archived: body.archived ?? false,
    taken_down: false,
    // Last, because hashing is the only costly step.
    password_hash: await hashLinkPassword(deps.passwords, owner.accountId, body.password),
    created_at,
  };
  // Checked here, so that of several links only this one fails.
  const problem = sizeProblem({ ...link, alias: body.alias ?? LONGEST_ALIAS });
  if (problem !== undefined) throw problem;
  return link;
}

/**
 * A validated change of a link: columns to set, and settings, which are merged with its current
 * ones.
 */
export type LinkChanges = { columns: Partial<LinkRow>; settings: SettingsChange };

/** Validates a request and returns the changes. Throws what {@link prepareLink} throws. */
export async function prepareChanges(
  deps: PreparationDeps,
  owner: AccountScope,
  body: ManyChangeBody,
): Promise<LinkChanges> {
  const { url, alias, password, expires_at, domain, ...rest } = withoutSettings(body);
  const [settings, destination, place, , expires] = await checkAll([
    () => prepareSettings(deps, body),
    () => (url === undefined ? undefined : requireDestination(url, deps)),
    async () =>
      domain === undefined ? {} : placeOn(await resolveDomain(deps.domains, owner, domain)),
    // Its reserved words are refused by `applyChanges`.
    () => (alias === undefined ? undefined : requireAlias(alias, "")),
    () => futureInstant("expires_at", expires_at, new Date()),
  ]);
  const columns: Partial<LinkRow> = {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...place,
  };
  if (destination !== undefined) {
    columns.original_url = destination.original;
    columns.target_url = destination.href;
  }
  if (alias !== undefined) columns.alias = alias;
  if (expires_at !== undefined) columns.expires_at = expires;
  // Last, because hashing is the only costly step.
  if (password !== undefined) {
    columns.password_hash = await hashLinkPassword(deps.passwords, owner.accountId, password);
  }
  return { columns, settings };
}

/**
 * The link after a change. Throws `invalid_alias`, and `invalid_request` if it lets it expire
 * before it starts. Records when the change sends a visitor to a different site, which the link's
 * about page shows.
 */
export function applyChanges(old: LinkRow, { columns, settings }: LinkChanges): LinkRow {
  const extras = changeSettings(old.extras, settings, old.clicks);
  // While the case of its domain is being switched, the row says how the link is published.
  const { folded, served } = columns.domain_id === old.domain_id ? old : { ...old, ...columns };
  const changed: LinkRow = { ...old, ...columns, folded, served, extras };
  // Which words are reserved depends on the domain.
  if (changed.alias !== old.alias || changed.domain_id !== old.domain_id)
    requireAlias(changed.alias, changed.domain_host);
  if (columns.expires_at !== undefined || "starts_at" in settings)
    requireExpiryAfterStart(extras?.starts_at, changed.expires_at);
  return Bun.deepEquals(sitesOf(changed), sitesOf(old))
    ? changed
    : { ...changed, extras: { ...extras, host_changed_at: new Date().toISOString() } };
}
