/** The state of a short link in the links log: all that a redirector needs to know of it. */
import { isIP } from "node:net";

import type { Uuid } from "../ids.ts";
import { cached } from "../visitors/cache.ts";
import { ALIAS_BYTES_MAX } from "./alias.ts";
import {
  isBoolean,
  isCount,
  isInstant,
  isListOf,
  isObject,
  isOptional,
  isString,
  isTexts,
  isUuid,
  isWebUrl,
  isWholeNotice,
  type Members,
} from "./member-checks.ts";
import { CONDITION_TYPES, MEMBERS, type RedirectSettings } from "./redirect-settings.ts";
import { isRedirectStatus } from "./redirect-status.ts";
import type { ShortLink } from "./short-link.ts";

/** The domain name of the service's own short domain, whatever its hosts are. */
export const DEFAULT_DOMAIN = "";

/** A link's mode: test links redirect and count like live ones, but are separate from them. */
export type Mode = "live" | "test";

export type ActiveLink = ShortLink & {
  state: "active";
  /** From one PostgreSQL sequence for all links. */
  version: number;
  link_id: Uuid;
  account_id: Uuid;
  mode: Mode;
  /** The URL to redirect to, with its UTM parameters. */
  destination: string;
  /** Unix milliseconds, or null when the link does not expire. */
  expires_at: number | null;
  /** Argon2id hash in PHC format, or null when the link has no password. */
  password_hash: string | null;
  /** Whether the query of the short URL is forwarded to the destination. */
  forward_query: boolean;
  /** The link's redirect settings; absent for most links. */
  extras?: RedirectSettings;
  /**
   * Unix milliseconds since when the destination has its host; absent when it always had it. For
   * the page about the link (`/alias+`), which reads the store: redirectors do not cache it.
   */
  host_changed_at?: number;
  /** The UTM parameters in the destination's query, for clicks; absent for one without. */
  utm?: string;
};

/** A short link that no longer exists: a deletion or a rename freed its alias. */
type DeletedLink = ShortLink & {
  state: "deleted";
  version: number;
};

export type LinkRecord = ActiveLink | DeletedLink;

/** Maximum bytes of a state in the log. */
export const LINK_RECORD_BYTES_MAX = 64 * 1024;

/** Bytes of a message beside its record: headers, and more digits of later versions. */
const MESSAGE_OVERHEAD_BYTES = 512;

/** Maximum bytes of an encoded record. */
export const ENCODED_LINK_BYTES_MAX = LINK_RECORD_BYTES_MAX - MESSAGE_OVERHEAD_BYTES;

/** Encodes a record for the log. */
export const encodeLinkRecord = (record: LinkRecord): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(record));

/**
 * Decodes a state of the log to its record; undefined when it is malformed. Every member is
 * checked, so that no later reader of the record throws: a malformed record must not stop the log.
 * Members that this version does not know are kept, and a link with settings that it does not
 * understand becomes a deleted one.
 */
export function decodeLinkRecord(bytes: Uint8Array): LinkRecord | undefined {
  if (bytes.length > LINK_RECORD_BYTES_MAX) return undefined;
  try {
    const message: unknown = JSON.parse(decoder.decode(bytes));
    return isObject(message) ? toRecord(message) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the state of a record can be decoded. */
export const isDecodable = (record: LinkRecord): boolean => toRecord(record) !== undefined;

/** Decodes the short link of a state whose rest is malformed; undefined when that is unknown. */
export function decodeLinkKey(bytes: Uint8Array): ShortLink | undefined {
  try {
    const message: unknown = JSON.parse(decoder.decode(bytes));
    return isObject(message) && hasShortLink(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** A decoder that rejects malformed UTF-8: replacement characters would make another link of it. */
const decoder = new TextDecoder("utf-8", { fatal: true });

function toRecord(message: Members): LinkRecord | undefined {
  if (!hasKey(message)) return undefined;
  if (isDeletedLink(message)) return message;
  if (!hasLink(message)) return undefined;
  if (isPlainLink(message)) return message;
  const { version, domain, alias, extras, ...link } = message;
  if (!isObject(extras)) return undefined;
  if (!isUnderstood(extras)) return { state: "deleted", version, domain, alias };
  if (!isRedirectSettings(extras)) return undefined;
  // Without members, a link is a plain one.
  const members = Object.keys(extras).length === 0 ? {} : { extras };
  return { ...link, version, domain, alias, ...members };
}

/** The most characters of a domain name (RFC 1035, 2.3.4). */
const DOMAIN_LENGTH_MAX = 253;

/** Checks that a domain can be followed by a path. */
const HOST = /^[!-.0-~]*$/;

/** Characters of no alias; other aliases, of versions with other rules, are never requested. */
const NOT_IN_ALIAS = /[\p{Cc}\p{Cs}\s]/u;

type Key = ShortLink & { version: number };

const hasKey = (message: Members): message is Members & Key =>
  isCount(message["version"]) && hasShortLink(message);

const hasShortLink = (message: Members): message is Members & ShortLink =>
  isHost(message["domain"]) && isName(message["alias"]);

const isHost = (value: unknown): value is string =>
  isString(value) && value.length <= DOMAIN_LENGTH_MAX && HOST.test(value);

const isName = (value: unknown): value is string =>
  isString(value) &&
  value !== "" &&
  value.length <= ALIAS_BYTES_MAX &&
  Buffer.byteLength(value) <= ALIAS_BYTES_MAX &&
  !NOT_IN_ALIAS.test(value);

/** Notices have the form of deleted links, with further members. */
const isDeletedLink = (message: Members & Key): message is Members & DeletedLink =>
  message["state"] === "deleted" && (!message.alias.startsWith("@") || isWholeNotice(message));

type LinkWith<Extras> = Omit<ActiveLink, "extras"> & { extras?: Extras };

const hasLink = (message: Members & Key): message is Members & LinkWith<unknown> =>
  message["state"] === "active" &&
  isUuid(message["link_id"]) &&
  isUuid(message["account_id"]) &&
  (message["mode"] === "live" || message["mode"] === "test") &&
  isWebUrl(message["destination"]) &&
  isNullOr(message["expires_at"], isInstant) &&
  isNullOr(message["password_hash"], isPasswordHash) &&
  isBoolean(message["forward_query"]) &&
  isOptional(message["host_changed_at"], isInstant) &&
  isOptional(message["utm"], isString);

const isPlainLink = (message: Members & LinkWith<unknown>): message is Members & LinkWith<never> =>
  !("extras" in message);

const isNullOr = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === null || check(value);

/** A hash in PHC format, with parameters of which one verification takes less than 1 GiB. */
const PASSWORD_HASH =
  /^\$argon2id\$v=\d{1,2}\$m=\d{1,6},t=\d{1,2},p=\d{1,2}\$[A-Za-z0-9+/]{1,128}\$[A-Za-z0-9+/]{1,128}$/;

const isPasswordHash = (value: unknown): boolean => isString(value) && PASSWORD_HASH.test(value);

// Checks the redirect settings in a message of the links log, so that no later reader of them
// throws. Additions of later versions are not malformed: {@link isUnderstood} returns that this
// version lacks them.

/** Known names of time zones, and known invalid ones: there are some 600. */
const ZONES_MAX = 1_000;

const UINT32_MAX = 2 ** 32 - 1;

const PERCENT_MAX = 100;

const TIME = /^\d\d:\d\d$/;

const FORWARD_PATHS: readonly unknown[] = [
  "append",
  "ignore",
] satisfies RedirectSettings["forward_path"][];

const isTimeZone = cached(ZONES_MAX, (name: string): boolean => {
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId !== "";
  } catch {
    return false;
  }
});

/** Whether a text is an IP address or a CIDR block. */
function isAddressBlock(value: unknown): boolean {
  if (!isString(value)) return false;
  const [address = "", bits, ...rest] = value.split("/");
  const version = isIP(address);
  // A zone (`%eth0`) belongs to one machine.
  if (version === 0 || rest.length > 0 || address.includes("%")) return false;
  return bits === undefined || (bits !== "" && isCount(Number(bits), version === 6 ? 128 : 32));
}

const isDate = (value: unknown): boolean => isString(value) && !Number.isNaN(Date.parse(value));

function isCondition(condition: unknown): boolean {
  if (!isObject(condition) || !isOptional(condition["not"], isBoolean)) return false;
  const { type, in: values } = condition;
  switch (type) {
    case "query":
      return isString(condition["name"]) && isOptional(values, isTexts);
    case "time":
      return isOptional(condition["from"], isDate) && isOptional(condition["until"], isDate);
    case "schedule":
      return isSchedule(condition);
    case "ip":
      return Array.isArray(values) && values.every(isAddressBlock);
    default:
      return isString(type) && isTexts(values);
  }
}

const isSchedule = ({ timezone, days, from, to }: Members): boolean =>
  isString(timezone) &&
  isTimeZone(timezone) &&
  isListOf(days, (day) => isCount(day, 7)) &&
  [from, to].every((time) => isString(time) && TIME.test(time));

const isRule = (rule: unknown): boolean =>
  isObject(rule) &&
  isUuid(rule["id"]) &&
  isWebUrl(rule["url"]) &&
  isListOf(rule["conditions"], isCondition);

const isArm = (arm: unknown): boolean =>
  isObject(arm) && isUuid(arm["id"]) && isWebUrl(arm["url"]) && isCount(arm["weight"], PERCENT_MAX);

const isSplit = (split: unknown): boolean =>
  isObject(split) &&
  isCount(split["key"], UINT32_MAX) &&
  isListOf(split["arms"], isArm) &&
  isOptional(split["until"], isInstant);

const isPreview = (preview: unknown): boolean =>
  isObject(preview) &&
  isString(preview["title"]) &&
  isOptional(preview["description"], isString) &&
  isOptional(preview["image"], isWebUrl);

const isLimit = (limit: unknown): boolean =>
  isObject(limit) &&
  isUuid(limit["id"]) &&
  [limit["max"], limit["before"], limit["stored"]].every((count) => isCount(count)) &&
  isOptional(limit["humans"], isBoolean);

const CHECKS: Readonly<Record<keyof RedirectSettings, (value: unknown) => boolean>> = {
  taken_down: isBoolean,
  disabled: isBoolean,
  starts_at: isInstant,
  expired_url: isWebUrl,
  rules: (rules) => isListOf(rules, isRule),
  split: isSplit,
  preview: isPreview,
  forward_path: (value) => FORWARD_PATHS.includes(value),
  redirect_status: isRedirectStatus,
  limit: isLimit,
  confirm: isBoolean,
};

/** Whether the settings that this version understands are well formed. */
const isRedirectSettings = (settings: Members): settings is RedirectSettings =>
  Object.entries(CHECKS).every(([member, check]) => isOptional(settings[member], check));

/** Whether this version understands all redirect settings of a link. */
function isUnderstood(settings: Members): boolean {
  const { rules, forward_path, redirect_status } = settings;
  return (
    Object.keys(settings).every((member) => MEMBERS.includes(member)) &&
    (!isString(forward_path) || FORWARD_PATHS.includes(forward_path)) &&
    (!isCount(redirect_status) || isRedirectStatus(redirect_status)) &&
    (!Array.isArray(rules) || rules.every(hasUnderstoodConditions))
  );
}

function hasUnderstoodConditions(rule: unknown): boolean {
  const conditions = isObject(rule) ? rule["conditions"] : undefined;
  return !Array.isArray(conditions) || conditions.every(hasUnderstoodType);
}

const hasUnderstoodType = (condition: unknown): boolean =>
  !isObject(condition) ||
  !isString(condition["type"]) ||
  CONDITION_TYPES.includes(condition["type"]);
