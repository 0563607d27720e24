/**
 * Notices: states in the links log that are not links. They contain the accounts and hosts that are
 * taken down, and the settings of domains. A notice has the form of a deleted link under an alias
 * that no link can have.
 */
import { DEFAULT_DOMAIN, type LinkRecord } from "./link-record.ts";
import type { Fold } from "./member-checks.ts";
import type { RedirectStatus } from "./redirect-status.ts";

/**
 * Accounts by their UUIDs, and destination hosts in lower case; a host covers the names below it.
 */
export type TakedownList = { accounts: readonly string[]; hosts: readonly string[] };

/** The settings of a custom domain; a setting that is off is absent. */
export type DomainSettings = {
  /** Destination of `/`. */
  root_url?: string;
  /** Destination of an alias without a link. */
  not_found_url?: string;
  /** Destination of an expired link that has no `expired_url`. */
  expired_url?: string;
  /** Of links without a status of their own. */
  redirect_status?: RedirectStatus;
  fold?: Fold;
  /** Files for apps, as JSON values. */
  apple_app_site_association?: unknown;
  assetlinks?: unknown;
};

/** The alias of each kind of notice. */
export const TAKEDOWNS_ALIAS = "@takedowns";
export const DOMAIN_ALIAS = "@domain";

/** Later ones replace earlier ones by their order in the log, so the version means nothing. */
type Notice<Alias extends string, Content> = {
  state: "deleted";
  version: 0;
  domain: string;
  alias: Alias;
} & Content;

export type TakedownNotice = Notice<typeof TAKEDOWNS_ALIAS, { takedowns: TakedownList }>;
/** The account is the domain's; absent once the domain is removed. */
export type DomainNotice = Notice<
  typeof DOMAIN_ALIAS,
  { settings: DomainSettings; account_id?: string }
>;

/** The notice of all takedowns, on the default domain. */
export const takedownNotice = (takedowns: TakedownList): TakedownNotice => ({
  state: "deleted",
  version: 0,
  domain: DEFAULT_DOMAIN,
  alias: TAKEDOWNS_ALIAS,
  takedowns,
});

export const domainNotice = (
  domain: string,
  settings: DomainSettings,
  accountId?: string,
): DomainNotice => ({
  state: "deleted",
  version: 0,
  domain,
  alias: DOMAIN_ALIAS,
  settings,
  ...(accountId === undefined ? {} : { account_id: accountId }),
});

/** Whether a record of the log is a notice. */
export const isNotice = ({ alias }: { alias: string }): boolean => alias.startsWith("@");

export const isTakedownNotice = (record: LinkRecord | TakedownNotice): record is TakedownNotice =>
  record.alias === TAKEDOWNS_ALIAS && "takedowns" in record;

export const isDomainNotice = (record: LinkRecord | DomainNotice): record is DomainNotice =>
  record.alias === DOMAIN_ALIAS && "settings" in record;
