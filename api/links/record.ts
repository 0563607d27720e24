/** The records of links in the links log, which the redirectors read. */
import { foldAlias } from "../../shared/contracts/alias.ts";
import {
  type ActiveLink,
  DEFAULT_DOMAIN,
  ENCODED_LINK_BYTES_MAX,
  encodeLinkRecord,
  type Mode,
} from "../../shared/contracts/link-record.ts";
import {
  joinUrl,
  readUtmQuery,
  splitUrl,
  UTM_NAMES,
  utmNameOf,
} from "../../shared/contracts/query-string.ts";
import type { Preview, RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import type { ShortLink } from "../../shared/contracts/short-link.ts";
import { uriOf } from "../../shared/contracts/web-url.ts";
import { decodeId, NIL_UUID, type Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import type { Utm } from "./model.ts";
import type { LinkSettings } from "./settings.ts";

/** What the record of a link is made from. */
type LinkState = Utm &
  Named & {
    id: Uuid;
    account_id: Uuid;
    mode: Mode;
    target_url: string;
    password_hash: string | null;
    expires_at: Date | null;
    forward_query: boolean;
    extras: LinkSettings | null;
    taken_down: boolean;
    /** Clicks counted so far, if the link has a click limit; absent for a new link. */
    clicks?: number | null;
  };

/** A link record without its version, which PostgreSQL assigns. */
type RecordDraft = Omit<ActiveLink, "version">;

/** The record of a link. */
export const toRecord = (link: LinkState & { version: number }): ActiveLink => ({
  ...toRecordDraft(link),
  version: link.version,
});

/**
 * Why the record of a link exceeds the size of a message; undefined if it does not. Whatever writes
 * settings checks that: a takedown or a republishing of the link adds less than the overhead that
 * the size leaves.
 */
export function sizeProblem(link: LinkState): ApiError | undefined {
  if (link.extras === null) return undefined;
  const { length } = encodeLinkRecord(toRecord({ ...link, version: 0 }));
  if (length <= ENCODED_LINK_BYTES_MAX) return undefined;
  return new ApiError(
    "invalid_request",
    `The link with all its URLs and conditions takes ${length} bytes; at most ${ENCODED_LINK_BYTES_MAX} are allowed.`,
  );
}

/** The record of a link, without its version. */
export function toRecordDraft(link: LinkState): RecordDraft {
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
  const settings = link.extras && toRedirectSettings(link, link.extras);
  return settings || takedown ? { ...draft, extras: { ...takedown, ...settings } } : draft;
}

/**
 * The settings of a link as redirectors need them: with normalized URLs and instants in Unix
 * milliseconds. The link's UTM parameters are set on every destination.
 */
function toRedirectSettings(link: LinkState, stored: LinkSettings): RedirectSettings {
  const { disabled, starts_at, expired_url, rules, split, preview } = stored;
  const { forward_path, redirect_status, max_clicks: max, limit_counts, ledger, confirm } = stored;
  const destination = (url: string) => applyUtm(uriOf(url), link);
  const settings: RedirectSettings = {};
  if (disabled !== undefined) settings.disabled = disabled;
  if (starts_at !== undefined) settings.starts_at = Date.parse(starts_at);
  if (expired_url !== undefined) settings.expired_url = uriOf(expired_url);
  if (rules !== undefined)
    settings.rules = rules.map(({ id, url, conditions }) => ({
      id: requireId("rule", id),
      url: destination(url),
      conditions,
    }));
  if (split !== undefined)
    settings.split = {
      key: split.key,
      arms: split.arms.map(({ id, url, weight }) => ({
        id: requireId("arm", id),
        url: destination(url),
        weight,
      })),
      ...(split.until === null ? {} : { until: Date.parse(split.until) }),
    };
  if (preview !== undefined) settings.preview = toCard(preview);
  if (forward_path !== undefined) settings.forward_path = forward_path;
  if (redirect_status !== undefined) settings.redirect_status = redirect_status;
  if (max !== undefined && ledger !== undefined) {
    const humans = limit_counts === "human" ? { humans: true as const } : {};
    settings.limit = { ...ledger, max, stored: link.clicks ?? 0, ...humans };
  }
  if (confirm !== undefined) settings.confirm = confirm;
  return settings;
}

const toCard = ({ title, description, image }: NonNullable<LinkSettings["preview"]>): Preview => ({
  title,
  ...(description === null ? {} : { description }),
  ...(image === null ? {} : { image: uriOf(image) }),
});

function requireId(kind: "rule" | "arm", id: string): Uuid {
  const uuid = decodeId(kind, id);
  if (uuid === undefined) throw new Error(`A stored ${kind} has no valid id.`);
  return uuid;
}

/**
 * Sets the UTM values on `href`, replacing parameters of the same names. The rest of the query
 * stays byte for byte the same.
 */
export function applyUtm(href: string, utm: Utm): string {
  const values = UTM_NAMES.flatMap((name): [string, string][] => {
    const value = utm[name];
    return value === null ? [] : [[name, value]];
  });
  if (values.length === 0) return href;
  const url = splitUrl(href);
  const others = url.parameters.filter((parameter) => {
    const name = utmNameOf(parameter);
    return name === undefined || utm[name] === null;
  });
  return joinUrl({ ...url, parameters: others }, new URLSearchParams(values).toString());
}

/** The domain and alias of a link's short link. */
type Named = { domain_host: string | null; alias: string; folded: boolean };

/** The domain of a link as the log names it. */
const recordDomain = ({ domain_host }: Named): string => domain_host ?? DEFAULT_DOMAIN;

/** The alias of a link as the log names it: in lower case where the domain ignores case. */
export const recordAlias = ({ alias, folded }: { alias: string; folded: boolean }): string =>
  folded ? foldAlias(alias) : alias;

/** The short link under which a link is published. */
export const shortLinkOf = (link: Named): ShortLink => ({
  domain: recordDomain(link),
  alias: recordAlias(link),
});

/** Links that are read at once: as many of the largest take tens of megabytes. */
const BATCH = 1_000;

/**
 * Reads the records of all links that redirect, in short statements, while links change. The next
 * ones are read while the caller has these.
 */
export async function* readServedLinks(sql: Sql): AsyncGenerator<ActiveLink[]> {
  for (let next = selectAfter(sql, NIL_UUID); ;) {
    const rows = await next;
    const last = rows.at(-1);
    if (last === undefined) return;
    next = selectAfter(sql, last.id);
    yield rows
      .filter(({ domain_id, domain_host }) => domain_id === null || domain_host !== null)
      .map(toRecord);
  }
}

/**
 * Selects the next links after an id, which is about the order in which they are stored; without
 * the host of a domain that is not verified. What few links have is looked up for these only: a
 * join could read all of the other table each time.
 */
const selectAfter = async (sql: Sql, after: Uuid) =>
  await sql<(LinkState & { version: number; domain_id: Uuid | null })[]>`
    select id, account_id, mode, domain_id, alias, folded is true as folded, target_url, password_hash, expires_at,
           utm_source, utm_medium, utm_campaign, utm_term, utm_content, forward_query, extras,
           taken_down is true as taken_down, version::float8 as version,
           (select host from domains where id = link.domain_id and verified_at is not null) as domain_host,
           case when extras ? 'max_clicks'
                then (select clicks from link_counters where link_id = link.id) end::float8 as clicks
      from links link
     where id > ${after} order by id limit ${BATCH}`;
