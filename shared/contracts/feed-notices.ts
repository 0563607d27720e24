/**
 * What the links feed says beside links: which accounts and hosts are taken down, and the settings of domains. A notice has
 * the form of a deleted link under an alias that no link can have, so that processes of earlier versions, which know none,
 * read nothing else in it. `version` orders the notices of a subject as it does links.
 */
import { DEFAULT_DOMAIN, type LinkRecord } from "./link-record.ts";

/** Accounts by their UUIDs, and destination hosts in lower case; a host covers the names below it. */
export type TakedownList = { accounts: readonly string[]; hosts: readonly string[] };

/** What a custom domain answers where it has no link; every member is absent when it is off. */
export type DomainSettings = {
  /** Where `/` leads. */
  root_url?: string;
  /** Where an alias without a link leads. */
  not_found_url?: string;
  /** Where an expired link leads that has no URL of its own for that. */
  expired_url?: string;
  /** Aliases are in lower case: all of them, or still some under both cases while the domain switches. */
  fold?: "all" | "switching";
  /** Files for apps, as JSON values. */
  apple_app_site_association?: unknown;
  assetlinks?: unknown;
};

/** The alias of each kind of notice. */
export const TAKEDOWNS_ALIAS = "@takedowns";
export const DOMAIN_ALIAS = "@domain";

/**
 * The heartbeat of the feed: whether the stream has every link. It is the stream's last message every few seconds, so a
 * mirror that has it has what was published before it.
 */
export type Heartbeat = {
  /** Whether the stream has every link; a link that it lacks then does not exist. */
  complete: boolean;
  /** Version of the time when the stream was last filled: since then it has a newer version of each link. */
  epoch: number;
  /** Version of the database when it was published. */
  version: number;
  /** How many links the stream has at least, as PostgreSQL counted a moment ago; in some of the heartbeats. */
  links?: number;
};

export const encodeHeartbeat = (heartbeat: Heartbeat): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(heartbeat));

/** Decodes a heartbeat; undefined for those of earlier versions, which say nothing. */
export function decodeHeartbeat(bytes: Uint8Array): Heartbeat | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value !== "object" || value === null) return undefined;
    if (!("complete" in value && "epoch" in value && "version" in value)) return undefined;
    const { complete, epoch, version } = value;
    const links =
      "links" in value && Number.isSafeInteger(value.links) ? Number(value.links) : undefined;
    if (typeof complete !== "boolean") return undefined;
    if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(version)) return undefined;
    return {
      complete,
      epoch: Number(epoch),
      version: Number(version),
      ...(links === undefined ? {} : { links }),
    };
  } catch {
    return undefined;
  }
}

type Notice<Alias extends string, Content> = {
  state: "deleted";
  version: number;
  domain: string;
  alias: Alias;
} & Content;

export type TakedownNotice = Notice<typeof TAKEDOWNS_ALIAS, { takedowns: TakedownList }>;
/** The account is that of the domain; notices of earlier versions have none, and those of a domain without settings. */
export type DomainNotice = Notice<
  typeof DOMAIN_ALIAS,
  { settings: DomainSettings; account_id?: string }
>;

/** The notice of all takedowns, on the default domain. */
export const takedownNotice = (version: number, takedowns: TakedownList): TakedownNotice => ({
  state: "deleted",
  version,
  domain: DEFAULT_DOMAIN,
  alias: TAKEDOWNS_ALIAS,
  takedowns,
});

export const domainNotice = (
  version: number,
  domain: string,
  settings: DomainSettings,
  accountId?: string,
): DomainNotice => ({
  state: "deleted",
  version,
  domain,
  alias: DOMAIN_ALIAS,
  settings,
  ...(accountId === undefined ? {} : { account_id: accountId }),
});

/** Whether a record of the feed is a notice, of whatever kind; never a link. */
export const isNotice = ({ alias }: Pick<LinkRecord, "alias">): boolean => alias.startsWith("@");

export const isTakedownNotice = (record: LinkRecord | TakedownNotice): record is TakedownNotice =>
  record.alias === TAKEDOWNS_ALIAS && "takedowns" in record;

export const isDomainNotice = (record: LinkRecord | DomainNotice): record is DomainNotice =>
  record.alias === DOMAIN_ALIAS && "settings" in record;
