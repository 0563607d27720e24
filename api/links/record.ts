/** Maps links to the records of the links log, which the redirectors read. */
import {
  type ActiveLink,
  DEFAULT_DOMAIN,
  ENCODED_LINK_BYTES_MAX,
  encodeLinkRecord,
} from "../../shared/contracts/link-record.ts";
import { keyOf, type ShortLink } from "../../shared/contracts/short-link.ts";
import { readUtmQuery } from "../../shared/contracts/utm.ts";
import { ApiError } from "../http/errors.ts";
import type { LinkRow, NewLink } from "./model.ts";
import { toRedirectSettings } from "./settings/redirect-settings.ts";
import { applyUtm } from "./utm.ts";

/** The domain of a link as the log names it. */
export const recordDomain = (link: Pick<LinkRow, "domain_host">): string =>
  link.domain_host ?? DEFAULT_DOMAIN;

/** The alias of a link as the log names it: in lower case where the domain ignores case. */
export const recordAlias = ({ alias, folded }: Pick<LinkRow, "alias" | "folded">): string =>
  folded ? alias.toLowerCase() : alias;

/** The short link under which a link is published. */
export const shortLinkOf = (
  link: Pick<LinkRow, "domain_host" | "alias" | "folded">,
): ShortLink => ({ domain: recordDomain(link), alias: recordAlias(link) });

/**
 * The names of the locks of short links, in the order in which transactions take them: each once
 * and sorted, so that no two transactions wait for each other.
 */
export const lockNamesOf = (shortLinks: readonly ShortLink[]): string[] =>
  [...new Set(shortLinks.map(keyOf))].toSorted();

/** A link record without its version, which PostgreSQL assigns. */
type RecordDraft = Omit<ActiveLink, "version">;

/** The record of a link. Throws what {@link toRecordDraft} throws. */
export const toRecord = (link: LinkRow): ActiveLink => ({
  ...toRecordDraft(link),
  version: link.version,
});

/**
 * The record of a link, without its version. Throws `invalid_request` when its settings make
 * it larger than a message may be.
 */
export function toRecordDraft(link: NewLink): RecordDraft {
  const problem = sizeProblem(link);
  if (problem !== undefined) throw problem;
  return draftOf(link);
}

/** Why the record of a link exceeds the size of a message; undefined if it does not. */
export function sizeProblem(link: NewLink): ApiError | undefined {
  if (link.extras === null) return undefined;
  const { length } = encodeLinkRecord({ ...draftOf(link), version: 0 });
  if (length <= ENCODED_LINK_BYTES_MAX) return undefined;
  return new ApiError(
    "invalid_request",
    `The link with all its URLs and conditions takes ${length} bytes; at most ${ENCODED_LINK_BYTES_MAX} are allowed.`,
  );
}

function draftOf(link: NewLink): RecordDraft {
  const destination = applyUtm(link.target_url, link);
  const utm = readUtmQuery(destination);
  const draft: RecordDraft = {
    state: "active",
    ...shortLinkOf(link),
    link_id: link.id,
    account_id: link.account_id,
    mode: link.mode,
    destination,
    expires_at: link.expires_at?.getTime() ?? null,
    password_hash: link.password_hash,
    forward_query: link.forward_query,
    ...(utm === undefined ? {} : { utm }),
  };
  const { host_changed_at } = link.extras ?? {};
  if (host_changed_at !== undefined) draft.host_changed_at = Date.parse(host_changed_at);
  const takedown = link.taken_down ? { taken_down: true as const } : undefined;
  // Also sets empty ones: PostgreSQL rejects a record without `extras` for a link that has
  // settings.
  const settings =
    link.extras && toRedirectSettings(link.extras, { ...link, clicks: link.clicks ?? 0 });
  return settings || takedown ? { ...draft, extras: { ...takedown, ...settings } } : draft;
}
